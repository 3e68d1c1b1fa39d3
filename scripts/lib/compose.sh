# shellcheck shell=bash
# Starting the container, or leaving it as it is when all is right.

PORTS=(8888 2222 6006)

compose() {
  docker compose --project-directory "$REPO" --project-name "$CONTAINER" "$@" </dev/null
}

# container FIELD: one fact about the container, nothing when there is none.
container() {
  docker container inspect --format "{{$1}}" "$CONTAINER" 2>/dev/null || printf ''
}

start_container() {
  local access='' files=(--file "$REPO/compose.yaml") before running log=$CACHE/logs/compose.log
  # With the toolkit but without a GPU, the reservation would fail.
  if gpu_seen; then
    access=$(gpu_access)
    [[ -n $access ]] || warn "a GPU is here, but Docker cannot hand it to a container: install the NVIDIA Container Toolkit, run 'nvidia-ctk runtime configure --runtime=docker' and restart Docker; going on without the GPU"
  fi
  [[ $access != nvidia ]] || files+=(--file "$REPO/compose.gpu.yaml")
  write_override "$access"
  files+=(--file "$OVERRIDE")

  check_in_container "${files[@]}"
  before=$(container .Id)
  running=$(container .State.Running)
  mkdir -p "${log%/*}"
  compose "${files[@]}" up --detach --no-build --pull never >"$log" 2>&1 || refuse_start "$log"
  if [[ $running != true ]]; then
    info "Started the container $CONTAINER."
  elif [[ $before != "$(container .Id)" ]]; then
    info "Replaced the container $CONTAINER: the image or a setting is another one."
  else
    info "The container $CONTAINER is as it should be."
  fi
}

# The image itself reads the settings first: a mistake in one starts nothing.
check_in_container() {
  local said status=0 name
  said=$(compose --progress quiet "$@" run --rm --no-deps --no-TTY \
    --entrypoint /opt/workbench/check-settings workbench 2>&1) || status=$?
  ((status)) || return 0
  # The caller's file, not its place in the container.
  for name in "${FILE_SETTINGS[@]}"; do said=${said//"/run/secrets/$name"/"${!name:-}"}; done
  ((status == 2)) || fault "the container does not start: $(last_line <<<"$said")"
  mistake "$(last_line <<<"$said" | sed 's/^error: //')"
}

# Asked before anything is built: is there room for the container?
check_place() {
  check_name
  [[ $(container .State.Running) == true ]] || check_ports
}

# A container that someone started by hand under our name is not ours to end.
check_name() {
  local owner
  [[ -n $(container .Id) ]] || return 0
  owner=$(container 'index .Config.Labels "com.docker.compose.project"')
  [[ $owner == "$CONTAINER" ]] ||
    mistake "a container named $CONTAINER was started by other means: docker rm --force $CONTAINER, then run scripts/up again"
}

# Docker's own message comes in five lines, after the fact.
check_ports() {
  local port address=${BIND_ADDRESS:-127.0.0.1}
  [[ $address != 0.0.0.0 ]] || address=127.0.0.1
  for port in "${PORTS[@]}"; do
    ! timeout 2 bash -c "exec 3<>/dev/tcp/$address/$port" 2>/dev/null ||
      mistake "port $port on $address is in use: end the program that has it, or take another address, such as BIND_ADDRESS=127.0.0.2 scripts/up"
  done
}

refuse_start() {
  local reason
  reason=$(last_line <"$1")
  if [[ $reason =~ (address already in use|port is already allocated|cannot assign requested address) ]]; then
    mistake "${reason##*failed: }: end the program that has it, or take another address with BIND_ADDRESS"
  fi
  fault "the container does not start: $reason"
}
