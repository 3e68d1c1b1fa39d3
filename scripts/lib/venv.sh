# shellcheck shell=bash
# The host's own tools (pytest, linters, uv), locked, in a folder of ours. Sets VENV.

VENV=$CACHE/venv

make_venv() {
  local log=$CACHE/logs/venv.log
  ! cmp -s "$REPO/scripts/requirements.lock" "$VENV/made-from.lock" || return 0
  # Debian keeps these modules in a package of their own.
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_venv_package
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' ||
    mistake "scripts/$COMMAND needs Python 3.9 or newer as python3, this is $(python3 --version)"
  mkdir -p "${log%/*}"
  info "Installing the host's tools into ${VENV#"$REPO"/}."
  python3 -m venv --clear "$VENV" >"$log" 2>&1 || fault "python3 -m venv: $(last_line <"$log")"
  # The hashes decide what is installed; where it comes from may be the user's
  # own mirror, so pip's configuration stays in force.
  env ${CA_BUNDLE:+PIP_CERT="$CA_BUNDLE"} "$VENV/bin/pip" install --quiet --no-deps \
    --disable-pip-version-check --require-hashes -r "$REPO/scripts/requirements.lock" \
    >"$log" 2>&1 </dev/null || pip_failed "$log"
  cp "$REPO/scripts/requirements.lock" "$VENV/made-from.lock"
}

pip_failed() {
  ! grep -q CERTIFICATE_VERIFY_FAILED "$1" ||
    mistake "pip does not trust the package index's certificate; give the certificates to trust: --ca FILE"
  fault "pip could not install the host's tools: $(grep -m1 '^ERROR' "$1" || last_line <"$1") (all of it: $1)"
}

install_venv_package() {
  [[ -n $INSTALL_ENGINE && $EUID -eq 0 ]] ||
    mistake "python3 with its module venv is missing: apt-get install python3-venv, or as root: scripts/$COMMAND --install-engine"
  read_distribution
  info "Installing python3-venv: the host's tools go into such a folder."
  apt_install python3-venv
}
