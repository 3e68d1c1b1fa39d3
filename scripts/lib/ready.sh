# shellcheck shell=bash
# Waiting until the container serves, or saying why it does not.

HEALTHY_WITHIN=120

wait_healthy() {
  wait_until "$HEALTHY_WITHIN" decided || : # what was decided is asked next
  case $(container .State.Status):$(container .State.Health.Status) in
    running:unhealthy) ended_badly 1 'is unhealthy' ;;
    running:*)
      serves || ended_badly 1 "does not answer after $HEALTHY_WITHIN s"
      info 'All services answer.'
      ;;
    *) ended_badly "$(container .State.ExitCode)" "has ended with status $(container .State.ExitCode)" ;;
  esac
}

serves() {
  docker exec "$CONTAINER" healthcheck >/dev/null 2>&1
}

decided() {
  [[ $(container .State.Status) != running || $(container .State.Health.Status) == unhealthy ]] || serves
}

# A refused setting is the user's mistake: the container has said it in a line.
ended_badly() {
  local log
  log=$(docker logs --tail 20 "$CONTAINER" 2>&1)
  [[ $1 != 2 ]] || mistake "$(last_line <<<"$log" | sed 's/^error: //')"
  printf '%s\n' "$log" >&2
  fault "the container $CONTAINER $2; its last lines stand above"
}
