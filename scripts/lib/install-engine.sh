# shellcheck shell=bash
# Docker Engine from the distribution's own packages, by apt, as root.

# install_engine PROBLEM: installs what PROBLEM says is missing.
install_engine() {
  local packages
  read_distribution
  # Docker's own packages and the distribution's exclude each other.
  if dpkg-query -W -f '${db:Status-Status}' docker-ce 2>/dev/null | grep -qx installed; then
    mistake "$1, and Docker's own packages are installed here: apt-get install docker-ce docker-buildx-plugin docker-compose-plugin"
  fi
  case $DISTRIBUTION in
    debian:12)
      # Bookworm's engine is 20.10, without buildx and compose. Trixie's runs
      # on bookworm's libc; runc stays bookworm's.
      add_trixie
      packages='docker.io/trixie docker-cli/trixie containerd/trixie docker-buildx/trixie docker-compose/trixie iptables'
      ;;
    debian:1[3-9]*) packages='docker.io docker-cli docker-buildx docker-compose iptables' ;;
    ubuntu:2[2-9]*) packages='docker.io docker-buildx docker-compose-v2 iptables' ;;
    *) mistake "$1, and --install-engine knows Debian 12 and Ubuntu 22.04 or newer, not ${DISTRIBUTION/:/ }; install Docker Engine by docs.docker.com/engine/install" ;;
  esac
  info "$1: installing Docker Engine with buildx and compose by apt."
  # shellcheck disable=SC2086  # a list of package names
  apt_install $packages
}

# install_package PROGRAM PACKAGES WHY: what brings PROGRAM, when it may be installed.
install_package() {
  ! command -v "$1" >/dev/null || return 0
  [[ -n $INSTALL_ENGINE && $EUID -eq 0 ]] ||
    mistake "$1 is missing, $3 needs it: apt-get install $2, or as root: scripts/$COMMAND --install-engine"
  read_distribution
  info "Installing $2: $3 needs it."
  # shellcheck disable=SC2086  # a list of package names
  apt_install $2
}

read_distribution() {
  # shellcheck source=/dev/null
  DISTRIBUTION=$(source /etc/os-release && printf '%s:%s' "${ID:-unknown}" "${VERSION_ID:-}")
  command -v apt-get >/dev/null ||
    mistake "--install-engine works with apt, and ${DISTRIBUTION/:/ } has none; install it by docs.docker.com/engine/install"
}

add_trixie() {
  local mirror
  # What apt knows of its sources, it knows from its last update.
  apt_update
  ! apt-cache policy | grep -q 'n=trixie' || return 0
  # The mirror this machine already uses; no address of our own.
  # shellcheck disable=SC2016  # apt fills these in
  mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 ~ /^(bookworm|stable|oldstable)$/ {print $2; exit}')
  [[ -n $mirror ]] || fault "no apt source for bookworm is configured, so there is no mirror to take Docker Engine from"
  # Priority 100: nothing comes from trixie unless it is asked for by name.
  printf 'Package: *\nPin: release n=trixie\nPin-Priority: 100\n' \
    >/etc/apt/preferences.d/tf29-workbench-engine
  printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: %s\n' \
    "$mirror" /usr/share/keyrings/debian-archive-keyring.gpg \
    >/etc/apt/sources.list.d/tf29-workbench-engine.sources
  info 'Debian 13 is a package source now, for what is asked for by name (/etc/apt/sources.list.d, preferences.d: tf29-workbench-engine).'
}

APT_LOG=$CACHE/logs/apt.log

# One broken third-party source must not stop us: whether the packages can be
# had is what the installation finds out.
apt_update() {
  mkdir -p "${APT_LOG%/*}"
  apt-get update >"$APT_LOG" 2>&1 </dev/null || warn "apt-get update: $(last_line <"$APT_LOG")"
}

apt_install() {
  apt_update
  # --no-remove: never trade a package of the user's for ours.
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends --no-remove \
    -o DPkg::Lock::Timeout=120 "$@" >>"$APT_LOG" 2>&1 </dev/null ||
    fault "apt-get install $*: $(grep -m1 '^E: ' "$APT_LOG" || last_line <"$APT_LOG") (all of it: $APT_LOG)"
}
