# shellcheck shell=bash
# What the caller does not set stays as the container has it: a plain `scripts/up`
# must not end people's work by taking a setting back. NAME= (empty) does that.

PLAIN_SETTINGS=(AUTHORIZED_KEYS JUPYTER_TOKEN JUPYTER_BASE_URL PUID PGID SERVICES SSH_ENV_DENY)
# Of two ways to say one thing, the caller's is the whole of it.
declare -A OTHER_WAY=(
  [AUTHORIZED_KEYS]=AUTHORIZED_KEYS_FILE [AUTHORIZED_KEYS_FILE]=AUTHORIZED_KEYS
  [JUPYTER_TOKEN]=JUPYTER_TOKEN_FILE [JUPYTER_TOKEN_FILE]=JUPYTER_TOKEN
)

remember_settings() {
  local name kept=() names=() REPLY
  check_name
  [[ -n $(container .Id) ]] || return 0
  for name in BIND_ADDRESS "${PLAIN_SETTINGS[@]}" "${FILE_SETTINGS[@]}"; do
    [[ -v $name || -v ${OTHER_WAY[$name]:-$name} ]] || names+=("$name")
  done
  for name in "${names[@]}"; do
    read_setting "$name"
    [[ -n $REPLY ]] || continue
    printf -v "$name" '%s' "$REPLY"
    export "${name?}"
    [[ $name == BIND_ADDRESS && $REPLY == 127.0.0.1 ]] || kept+=("$name")
  done
  ((${#kept[@]} == 0)) ||
    info "Kept as the container has it: ${kept[*]}. (NAME= scripts/up takes a setting back.)"
}

# read_setting NAME: sets REPLY to the container's value, to the last line break; for a
# file, to its place on this machine.
read_setting() {
  local pair
  REPLY=''
  case $1 in
    BIND_ADDRESS)
      REPLY=$(container 'with index .HostConfig.PortBindings "8888/tcp"}}{{(index . 0).HostIp}}{{end')
      ;;
    AUTHORIZED_KEYS_FILE | JUPYTER_*FILE)
      REPLY=$(container "range .Mounts}}{{if eq .Destination \"/run/secrets/$1\"}}{{.Source}}{{end}}{{end")
      ;;
    *)
      while IFS= read -r -d '' pair; do
        # A name alone, without "=", is how compose hands on what is not set.
        [[ $pair != "$1="* ]] || REPLY=${pair#*=}
      done < <(container 'range .Config.Env}}{{printf "%s\x00" .}}{{end')
      ;;
  esac
}
