# shellcheck shell=bash
# What this machine knows of NVIDIA GPUs, without any NVIDIA program.

# A driver or its device files, or the driver that Windows lends to WSL.
gpu_seen() {
  [[ -e $HOST_ROOT/proc/driver/nvidia || -e $HOST_ROOT/usr/lib/wsl/lib/libcuda.so.1 ]] ||
    compgen -G "$HOST_ROOT/dev/nvidia*" >/dev/null
}

# How Docker can hand GPUs to a container: `nvidia`, `cdi`, or nothing.
gpu_access() {
  local facts folder
  facts=$(docker info --format '{{range $name, $_ := .Runtimes}}{{$name}} {{end}}')
  # `--gpus` works through this hook even where no runtime is registered.
  if [[ " $facts " == *' nvidia '* ]] || command -v nvidia-container-runtime-hook >/dev/null; then
    printf nvidia
    return
  fi
  # Engines before 25 do not know the field, and have no CDI either.
  facts=$(docker info --format '{{range .CDISpecDirs}}{{println .}}{{end}}' 2>/dev/null) || facts=''
  while read -r folder; do
    if [[ -n $folder ]] && grep -qs 'nvidia.com/gpu' "$HOST_ROOT$folder"/*.{yaml,json}; then
      printf cdi
      return
    fi
  done <<<"$facts"
}
