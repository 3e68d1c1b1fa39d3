# shellcheck shell=bash disable=SC2034 # the other parts read the variables
# Which image ours is built on. Sets BASE_IMAGE.

choose_base() {
  local official why
  official=$(dockerfile_arg BASE_IMAGE)
  if [[ $BASE == compatible ]]; then
    use_compatible_base
    return
  fi
  # A digest names content, so what is here already is right.
  if docker image inspect "$official" >/dev/null 2>&1; then
    info "Base: $official, already here."
    BASE_IMAGE=$official
    return
  fi
  info "Base: asking the registry for $official."
  if why=$(registry_refuses "$official"); then
    [[ $BASE != registry ]] ||
      mistake "--base registry: $why; make the registry reachable, or let --base compatible build a base here"
    ! gpu_seen ||
      mistake "a GPU is here, but the base image made for it cannot be had ($why): make the registry reachable, or take --base compatible, which builds a base with the CUDA libraries"
    info "The registry does not give it: $why."
    info 'Taking the compatible base instead: Debian with the same TensorFlow, not the official image.'
    use_compatible_base
    return
  fi
  docker pull "$official" || fault "the pull of $official broke off; run it again, what has arrived is kept"
  BASE_IMAGE=$official
}

# Prints why the registry does not give the image; false when it does. The
# engine asks, not we: it may have a proxy or a mirror of its own. The probe
# ends at the engine's first answer, so that the pull itself can show its progress.
registry_refuses() {
  local log status=0 pull
  log=$(mktemp)
  docker pull "$1" >"$log" 2>&1 </dev/null &
  pull=$!
  if ! wait_until 20 pull_decided "$pull" "$log"; then
    printf 'no answer within 20 s'
  elif ! grep -q 'Pulling from' "$log" && ! wait "$pull"; then
    last_line <"$log" | sed 's/^Error response from daemon: //'
  else
    status=1
  fi
  # The probe may have ended by itself, and how it ended is known by now.
  kill "$pull" 2>/dev/null || :
  wait "$pull" 2>/dev/null || :
  rm -f "$log"
  return "$status"
}

pull_decided() {
  grep -q 'Pulling from' "$2" || ! kill -0 "$1" 2>/dev/null
}

# Full where a GPU is seen: the small kind could not use it.
use_compatible_base() {
  local kind=cudart
  if gpu_seen; then
    kind=full
  fi
  build_compatible_base "$kind"
  BASE_IMAGE=tf29-base:$kind
  [[ $kind == full ]] || info "This base cannot use a GPU, and none is seen here."
}

# A second tag says what the base was made from. While it stands on the same
# image, there is nothing to build.
build_compatible_base() {
  local kind=$1 made_from arguments=()
  made_from=tf29-base:$kind-$(base_inputs)
  if [[ $(image_id "$made_from") == "$(image_id "tf29-base:$kind")" && -n $(image_id "$made_from") ]]; then
    info "Base: tf29-base:$kind, already built."
    return
  fi
  [[ $EUID -eq 0 ]] ||
    mistake "the compatible base is made with debootstrap, which needs root: sudo scripts/$COMMAND"
  install_package debootstrap 'debootstrap debian-archive-keyring' 'the compatible base'
  find_python38
  [[ -z $CA_BUNDLE ]] || arguments+=(--ca "$CA_BUNDLE")
  info "Building the base tf29-base:$kind with CPython from $PYTHON38."
  "$REPO/docker/base/build" --kind "$kind" --python38 "$PYTHON38" "${arguments[@]}"
  docker image ls --filter "reference=tf29-base:$kind-*" --format '{{.Repository}}:{{.Tag}}' |
    xargs -r docker image rm >/dev/null || warn 'an older base is still in use and stays'
  docker tag "tf29-base:$kind" "$made_from"
}

base_inputs() {
  (cd "$REPO" && find docker/base -type f ! -name '*.md' -print0 | sort -z |
    xargs -0 sha256sum | sha256sum | cut -c 1-12)
}

image_id() {
  docker image inspect --format '{{.Id}}' "$1" 2>/dev/null || printf ''
}
