# shellcheck shell=bash
# A whole CPython 3.8 tree for the compatible base. Sets PYTHON38.

find_python38() {
  local version uv
  [[ -z $PYTHON38 ]] || return 0
  if command -v pyenv >/dev/null; then
    version=$(pyenv versions --bare | grep -E '^3\.8\.[0-9]+$' | tail -n 1) || version=''
    if [[ -n $version ]]; then
      PYTHON38=$(pyenv prefix "$version")
      return
    fi
  fi
  # Fetched by uv: the one on the path, else the one among our own tools.
  uv=$(command -v uv) || { make_venv && uv=$VENV/bin/uv; }
  info 'Fetching CPython 3.8 with uv.'
  mkdir -p "$CACHE/logs"
  env ${CA_BUNDLE:+SSL_CERT_FILE="$CA_BUNDLE"} UV_PYTHON_INSTALL_DIR="$CACHE/python38" \
    "$uv" python install --no-config 3.8 >/dev/null 2>"$CACHE/logs/uv.log" ||
    mistake "CPython 3.8 cannot be had: pyenv has none and uv could not fetch it ($(last_line <"$CACHE/logs/uv.log")); give a folder that holds bin/python3.8: --python38 DIR"
  PYTHON38=$(find "$CACHE/python38" -maxdepth 1 -name 'cpython-3.8.*' | sort | tail -n 1)
}
