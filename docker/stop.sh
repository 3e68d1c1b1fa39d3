# shellcheck shell=bash
# How the workstation ends: the services first, then what people started. Part of
# `serve`; a keeper is its subshell that keeps one service running.

# docker stop kills after 10 s; until then people's work may save. In twentieths of a
# second, the time between two looks.
readonly patience_with_services=30 patience_with_sessions=150

# tell SIGNAL PID...: without a word about those that are gone already.
tell() {
  local pid
  for pid in "${@:2}"; do kill "-$1" "$pid" 2>/dev/null || :; done
}

# within N CONDITION...: looks N times; false when it never came true.
within() {
  local look
  for ((look = 0; look < $1; look++)); do
    "${@:2}" && return
    sleep 0.05
  done
  return 1
}

# shellcheck disable=SC2329 # `within` calls it
gone() {
  ! kill -0 "$@" 2>/dev/null
}

# Whether process 1 is our tini, or the init of `docker run --init` above it. With
# --pid=host it is the host's, and a signal to all would end the host.
ours_alone() {
  local parent
  ((PPID != 1)) || return 0
  read -r _ _ _ parent _ <"/proc/$PPID/stat"
  [[ $parent == 1 && $(</proc/1/comm) == docker-init ]]
}

# shellcheck disable=SC2329 # `within` calls it
# Whether this shell is alone with process 1 and its child tini.
alone() {
  local pid
  for pid in /proc/[0-9]*; do
    pid=${pid#/proc/}
    ((pid == 1 || pid == PPID || pid == $$)) || return 1
  done
}

# stop_all KEEPER...: tells the services to stop, then everything people started from
# their sessions, so that a training over SSH saves as well.
stop_all() {
  tell TERM "$@"
  if ! within "$patience_with_services" gone "$@"; then
    # Whatever hangs, its keeper above all: the children first.
    pkill -KILL -P "$(IFS=, && printf '%s' "$*")" || (($? == 1))
    tell KILL "$@"
  fi
  ours_alone || return 0
  tell TERM -1
  # Interactive shells ignore SIGTERM. (pkill: 1 means that there are none. This shell
  # goes by the name of its file.)
  pkill -HUP -x bash || (($? == 1))
  within "$patience_with_sessions" alone || :
}
