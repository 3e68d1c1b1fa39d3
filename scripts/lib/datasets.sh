# shellcheck shell=bash
# The folder with mnist.npz that the image is built from. Sets DATASETS.
# The base image's Python does the work, so the host needs none.

find_datasets() {
  local problem
  DATASETS=$CACHE/datasets
  mkdir -p "$DATASETS"
  if [[ -n $DATASETS_DIR ]]; then
    problem=$(DATASETS=$DATASETS_DIR mnist check mnist.npz 2>&1) ||
      mistake "--datasets (DATASETS_DIR) '$DATASETS_DIR': $(last_line <<<"$problem" | sed 's/^error: //')"
    # A copy, so that the next build needs neither the folder nor a network.
    cmp -s "$DATASETS_DIR/mnist.npz" "$DATASETS/mnist.npz" ||
      cp "$DATASETS_DIR/mnist.npz" "$DATASETS/mnist.npz"
    info "Data: $DATASETS_DIR/mnist.npz is MNIST."
    return
  fi
  if mnist check mnist.npz >/dev/null 2>&1; then
    info 'Data: MNIST, already here.'
    return
  fi
  info 'Data: fetching MNIST.'
  mnist fetch . || exit 1
}

# mnist fetch|check PATH: PATH within the folder. As the caller, so that what
# is written belongs to the caller.
mnist() {
  local arguments=() name mode=ro
  [[ $1 != fetch ]] || mode=rw
  if [[ -n $CA_BUNDLE ]]; then
    arguments+=(--volume "$CA_BUNDLE:/ca.pem:ro" --env SSL_CERT_FILE=/ca.pem)
  fi
  # Proxies and the tests' own sources.
  for name in HTTP_PROXY HTTPS_PROXY NO_PROXY http_proxy https_proxy no_proxy MNIST_SOURCES MNIST_TIMEOUT; do
    [[ ! -v $name ]] || arguments+=(--env "$name")
  done
  docker run --rm --init --pull never --user "$(id -u):$(id -g)" --entrypoint python \
    --volume "$REPO/docker/datasets/mnist.py:/mnist.py:ro" --volume "$DATASETS:/data:$mode" --workdir /data \
    "${arguments[@]}" "$BASE_IMAGE" /mnist.py "$@" </dev/null
}
