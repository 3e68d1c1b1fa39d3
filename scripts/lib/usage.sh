# shellcheck shell=bash
# --help: what the script does (its own first comment) and the options it takes.

usage() {
  local option
  printf 'Usage: scripts/%s%s\n\n' "$COMMAND" "${ALLOWED:+ [OPTION]...}"
  # The comment at the head of the script is its description.
  sed -n '2,/^[^#]/{s/^# \{0,1\}//p}' "$REPO/scripts/$COMMAND"
  if [[ -n $ALLOWED ]]; then
    printf '\nOptions (the variable in brackets means the same):\n'
    for option in $ALLOWED; do
      describe "$option"
    done
  fi
  exit 0
}

describe() {
  case $1 in
    --install-engine) row '--install-engine' 'install and start Docker Engine, buildx, compose and what the' \
      'compatible base needs (Debian, Ubuntu; as root) [INSTALL_ENGINE=yes]' ;;
    --base) row '--base registry|compatible' 'the official image, or one built here; default: the official one,' \
      'else the one built here, said aloud [BASE]' ;;
    --datasets) row '--datasets DIR' 'folder that holds mnist.npz; default: fetched once [DATASETS_DIR]' ;;
    --ca) row '--ca FILE' 'certificates to trust while building; default: PIP_CERT or' \
      'SSL_CERT_FILE [CA_BUNDLE]' ;;
    --python38) row '--python38 DIR' 'CPython 3.8 for the compatible base; default: from pyenv or uv' \
      '[PYTHON38]' ;;
    --tag) row '--tag NAME' 'name of the image; default: tf29-workbench [TAG]' ;;
    --no-cache) row '--no-cache' "repeat the image's own steps, not the base [NO_CACHE=yes]" ;;
    --soak) row '--soak [N]' 'repeat the load tests N times (20), and build the full base too [SOAK]' ;;
  esac
}

row() {
  printf '  %-27s %s\n' "$1" "$2"
  if (($# > 2)); then
    printf '  %-27s %s\n' '' "$3"
  fi
}
