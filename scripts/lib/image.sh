# shellcheck shell=bash
# The image itself, by BuildKit. Needs BASE_IMAGE and DATASETS.

# build_image TAG [ARGUMENT...]: further arguments go to the build.
build_image() {
  local tag=$1 log arguments=()
  shift
  [[ -z $CA_BUNDLE ]] || arguments+=(--secret "id=ca,src=$CA_BUNDLE")
  [[ -z $NO_CACHE ]] || arguments+=(--no-cache)
  # The builder named like the context is the engine's own: it sees local
  # images, whatever builder the user has chosen for other work.
  arguments+=(--builder "$(docker context show)" --tag "$tag" --build-arg "BASE_IMAGE=$BASE_IMAGE")
  arguments+=(--build-context "datasets=$DATASETS" "$@" "$REPO")
  # On a terminal BuildKit shows a few lines that move. Elsewhere it would be a
  # hundred, of which a person who starts the workbench needs none.
  if [[ $COMMAND == up && ! -t 1 ]]; then
    log=$CACHE/logs/build.log
    mkdir -p "${log%/*}"
    info "Building $tag on $BASE_IMAGE; the details go to ${log#"$REPO"/}."
    docker buildx build "${arguments[@]}" </dev/null >"$log" 2>&1 ||
      fault "the build of $tag failed: $(last_line <"$log") (all of it: $log)"
  else
    info "Building $tag on $BASE_IMAGE."
    docker buildx build "${arguments[@]}" </dev/null 2>&1 ||
      fault "the build of $tag failed; the lines above say where"
  fi
}

# All that the image needs, then the image.
build_all() {
  choose_base
  find_datasets
  build_image "$TAG"
}
