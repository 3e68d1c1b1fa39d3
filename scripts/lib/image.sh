# shellcheck shell=bash
# The image itself, by BuildKit. Needs BASE_IMAGE and DATASETS.

# build_image TAG [ARGUMENT...]: further arguments go to the build.
build_image() {
  local tag=$1 arguments=()
  shift
  [[ -z $CA_BUNDLE ]] || arguments+=(--secret "id=ca,src=$CA_BUNDLE")
  [[ -z $NO_CACHE ]] || arguments+=(--no-cache)
  info "Building $tag on $BASE_IMAGE."
  # The builder named like the context is the engine's own: it sees local
  # images, whatever builder the user has chosen for other work.
  docker buildx build --builder "$(docker context show)" --tag "$tag" \
    --build-arg "BASE_IMAGE=$BASE_IMAGE" --build-context "datasets=$DATASETS" \
    "${arguments[@]}" "$@" "$REPO" </dev/null 2>&1 || fault "the build of $tag failed; the lines above say where"
}

# All that the image needs, then the image.
build_all() {
  choose_base
  find_datasets
  build_image "$TAG"
}
