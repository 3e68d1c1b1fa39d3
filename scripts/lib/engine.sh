# shellcheck shell=bash
# Docker Engine with its two plugins: found, or installed and started when asked.

# Older engines bring a BuildKit without named contexts and linked copies.
ENGINE_AT_LEAST=25

engine_answers() {
  timeout 15 docker version --format '{{.Server.Version}}' >/dev/null 2>&1
}

# Prints what is wrong and the remedy; prints nothing when all is there.
engine_problem() {
  local answer
  if ! command -v docker >/dev/null; then
    printf 'Docker is not installed'
  elif ! docker buildx version >/dev/null 2>&1; then
    printf 'the Docker plugin buildx is missing'
  elif ! docker compose version >/dev/null 2>&1; then
    printf 'the Docker plugin compose (version 2) is missing'
  elif answer=$(timeout 15 docker version --format '{{.Server.Version}}' 2>&1); then
    ((${answer%%.*} >= ENGINE_AT_LEAST)) ||
      printf 'Docker Engine %s is too old, %s is the least' "$answer" "$ENGINE_AT_LEAST"
  elif [[ $answer == *'permission denied'* ]]; then
    printf 'this user may not use Docker Engine'
  else
    printf 'Docker Engine does not run'
  fi
}

remedy() {
  case $1 in
    *'may not use'*) printf "'sudo usermod -aG docker %s' and a new login allow it" "$(id -un)" ;;
    *'does not run'*) printf "start it ('sudo systemctl start docker'), or as root: scripts/%s --install-engine" "$COMMAND" ;;
    *) printf 'install it (docs.docker.com/engine/install), or as root on Debian or Ubuntu: scripts/%s --install-engine' "$COMMAND" ;;
  esac
}

# Ends the script when no usable engine is there and none may be installed.
find_engine() {
  local problem
  problem=$(engine_problem)
  if [[ -n $problem && -n $INSTALL_ENGINE ]]; then
    [[ $EUID -eq 0 ]] || mistake "$problem, and --install-engine needs root: sudo scripts/$COMMAND --install-engine"
    [[ $problem == *'does not run'* ]] || install_engine "$problem"
    engine_answers || start_engine
    problem=$(engine_problem)
    [[ -z $problem ]] || fault "$problem, even after it was installed and started"
  fi
  [[ -z $problem ]] || mistake "$problem; $(remedy "$problem")"
  info "Docker Engine $(docker version --format '{{.Server.Version}}')," \
    "buildx $(docker buildx version | awk '{print $2}')," \
    "compose $(docker compose version --short)"
}

start_engine() {
  local log=/var/log/tf29-dockerd.log
  touch "$log"
  if [[ -d /run/systemd/system ]]; then
    info 'Starting Docker Engine through systemd.'
    systemctl start docker || fault "systemctl start docker failed; journalctl -u docker says why"
  else
    info "No init system runs here: starting dockerd by hand, its log is $log."
    remove_stale /run/docker.pid dockerd
    remove_stale /run/docker/containerd/containerd.pid containerd
    # dockerd takes this socket for a containerd that runs, even a dead one's.
    grep -qsx containerd /proc/[0-9]*/comm || rm -f /run/containerd/containerd.sock
    # Detached for good: a child that keeps our output open would keep a
    # caller's pipe open after we have ended.
    setsid dockerd >"$log" 2>&1 </dev/null &
  fi
  wait_until 60 engine_answers ||
    fault "Docker Engine does not answer after 60 s: $(last_line <"$log")"
}

# A killed daemon leaves its pid behind; the number may be another process by now.
remove_stale() {
  [[ -e $1 ]] || return 0
  runs "$(<"$1")" "$2" || rm -f "$1"
}
