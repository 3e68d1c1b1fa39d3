# shellcheck shell=bash
# The container's settings, from the caller's environment. compose.yaml hands
# the plain ones on by itself; a setting that names a file of this machine is
# mounted, by an override that is written here.

FILE_SETTINGS=(AUTHORIZED_KEYS_FILE JUPYTER_TOKEN_FILE JUPYTER_PASSWORD_HASH_FILE JUPYTER_CERTFILE JUPYTER_KEYFILE)
OVERRIDE=$CACHE/compose/$CONTAINER.json

# Before anything is built: every file that a setting names is there, and so on. The
# first time it looks at what the caller gave, the second time also at what was kept.
check_settings() {
  local name file
  for name in "${FILE_SETTINGS[@]}"; do
    [[ -n ${!name:-} ]] || continue
    file=${!name}
    [[ -e $file ]] || mistake "$name: no file '$file' on this machine"
    [[ -f $file && -r $file ]] || mistake "$name: '$file' is not a readable file"
    printf -v "$name" '%s' "$(realpath -- "$file")"
  done
  [[ -z ${JUPYTER_TOKEN:-} || -z ${JUPYTER_TOKEN_FILE:-} ]] ||
    mistake "JUPYTER_TOKEN and JUPYTER_TOKEN_FILE='$JUPYTER_TOKEN_FILE' are both set; give one of them"
  [[ ${BIND_ADDRESS:-127.0.0.1} =~ ^[0-9]+(\.[0-9]+){3}$ ]] ||
    mistake "BIND_ADDRESS='$BIND_ADDRESS' is no IPv4 address, such as 127.0.0.1 (this machine alone) or 0.0.0.0"
}

# SSH needs a key. Nobody's is given silently: the caller's own is used, and said.
find_key() {
  local key
  [[ ${SERVICES:-ssh} == *ssh* && -z ${AUTHORIZED_KEYS:-}${AUTHORIZED_KEYS_FILE:-} ]] || return 0
  for key in ~/.ssh/id_ed25519.pub ~/.ssh/id_ecdsa.pub ~/.ssh/id_rsa.pub; do
    if [[ -r $key ]]; then
      AUTHORIZED_KEYS=$(<"$key")
      export AUTHORIZED_KEYS
      info "SSH lets in the owner of $key; AUTHORIZED_KEYS or AUTHORIZED_KEYS_FILE name another."
      return
    fi
  done
  # shellcheck disable=SC2016  # for the reader to type
  info 'SSH: there is no key in ~/.ssh, and without one sshd stays off. Give one: AUTHORIZED_KEYS="$(cat KEY.pub)" scripts/up'
}

# Writes the override: the mounted files, and the GPUs where only CDI has them.
write_override() {
  local name environment='' volumes='' comma='' deploy=''
  mkdir -p "${OVERRIDE%/*}"
  for name in "${FILE_SETTINGS[@]}"; do
    [[ -n ${!name:-} ]] || continue
    environment+="$comma\"$name\": \"/run/secrets/$name\""
    volumes+="$comma{\"type\": \"bind\", \"source\": $(json "${!name}"), \"target\": \"/run/secrets/$name\", \"read_only\": true}"
    comma=', '
  done
  if [[ $1 == cdi ]]; then
    deploy=', "deploy": {"resources": {"reservations": {"devices": [{"driver": "cdi", "device_ids": ["nvidia.com/gpu=all"], "capabilities": ["gpu"]}]}}}'
  fi
  printf '{"services": {"workbench": {"environment": {%s}, "volumes": [%s]%s}}}\n' \
    "$environment" "$volumes" "$deploy" >"$OVERRIDE"
}

# A JSON string, with Compose's own `$` doubled so that a path stays a path.
json() {
  local text=${1//\\/\\\\}
  text=${text//\"/\\\"}
  printf '"%s"' "${text//\$/\$\$}"
}
