# shellcheck shell=bash disable=SC2034 # scripts/test reads the variables
# The parts of scripts/test: each runs, whatever the others say, and the end
# tells how all of them went.

RESULTS=()
FAILED=0
# How the latest part went: yes or no.
PASSED=no
# pytest's last line of each part, for the very end.
CLOSING=()

# part NAME COMMAND...: runs it in the open, keeps its log, notes the result.
part() {
  local name=$1 log status start=$SECONDS
  shift
  log=$CACHE/logs/${name// /-}.log
  mkdir -p "${log%/*}"
  info "==> $name"
  # In a shell of its own, so that a fault ends the part and not the run. Never
  # behind `if` or `||`: bash would let the part go on after its first error.
  set +e
  (set -e; "$@") 2>&1 | tee "$log"
  status=${PIPESTATUS[0]}
  set -e
  if ((status)); then
    FAILED=1
    PASSED=no
    RESULTS+=("FAILED  $name ($((SECONDS - start)) s; .cache/logs/${log##*/})")
  else
    PASSED=yes
    RESULTS+=("passed  $name ($((SECONDS - start)) s)")
  fi
}

# Like part, and keeps the line that pytest closes with.
pytest_part() {
  local name=$1 line
  part "$@"
  line=$(grep -E '^=+ .* in [0-9.]+s.* =+$|^[0-9]+ (passed|failed|skipped).* in [0-9.]+s' "$CACHE/logs/${name// /-}.log" | tail -n 1) ||
    line='(pytest did not come to its end)'
  CLOSING+=("$name: $line")
}

summary() {
  info ''
  printf '%s\n' "${RESULTS[@]}"
  ((${#CLOSING[@]} == 0)) || printf '%s\n' "${CLOSING[@]}"
}
