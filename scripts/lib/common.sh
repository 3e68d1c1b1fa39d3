# shellcheck shell=bash disable=SC2034 # the other parts read the variables
# What every host script starts from: where things lie, how to speak, how to wait.

REPO=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)
# All that the scripts make for themselves lies here; git ignores it.
CACHE=$REPO/.cache
# TF29_NAME makes a second workbench beside the first, with volumes of its own.
CONTAINER=${TF29_NAME:-tf29-workbench}
# Tests point this at a folder with a device file or two. It is empty otherwise.
HOST_ROOT=${TF29_HOST_ROOT:-}

# shellcheck source=docker/log.sh
source "$REPO/docker/log.sh"

# wait_until SECONDS COMMAND...: true as soon as COMMAND is, false at the deadline.
wait_until() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.2
  done
}

# runs PID PROGRAM: is this process that program, and alive? A dead one that
# nobody has reaped keeps its number and its name.
runs() {
  [[ $(cat "/proc/$1/comm" 2>/dev/null) == "$2" ]] && ! grep -qs '^State:[[:space:]]*Z' "/proc/$1/status"
}

# The default of a build argument, read where it is declared, so that it stands
# in one place only.
dockerfile_arg() {
  sed -n "s/^ARG $1=//p" "$REPO/Dockerfile" | head -n 1
}

# The last line that says something, for one-line messages about a longer log.
last_line() {
  grep -v '^[[:space:]]*$' | tail -n 1
}
