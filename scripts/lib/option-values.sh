# shellcheck shell=bash disable=SC2034 # the other parts read the variables
# What the options' values must be: each is checked, and gets its default.

# Gives every variable a value and refuses what cannot be meant.
check_options() {
  INSTALL_ENGINE=$(yes_or_no --install-engine INSTALL_ENGINE)
  NO_CACHE=$(yes_or_no --no-cache NO_CACHE)
  BASE=${BASE:-}
  [[ $BASE =~ ^(|registry|compatible)$ ]] ||
    mistake "--base (BASE) is 'registry' or 'compatible', not '$BASE'"
  SOAK=${SOAK:-}
  [[ ${SOAK:-1} =~ ^[1-9][0-9]*$ ]] ||
    mistake "--soak takes a count of at least 1, not '$SOAK'"
  TAG=${TAG:-tf29-workbench}

  # pip and OpenSSL users have named their bundle already.
  CA_BUNDLE=${CA_BUNDLE:-${PIP_CERT:-${SSL_CERT_FILE:-}}}
  if [[ -n $CA_BUNDLE ]]; then
    [[ -f $CA_BUNDLE && -r $CA_BUNDLE ]] ||
      mistake "--ca (CA_BUNDLE, PIP_CERT, SSL_CERT_FILE): no readable file '$CA_BUNDLE'"
    CA_BUNDLE=$(realpath -- "$CA_BUNDLE")
  fi
  DATASETS_DIR=${DATASETS_DIR:-}
  if [[ -n $DATASETS_DIR ]]; then
    [[ -d $DATASETS_DIR ]] || mistake "--datasets (DATASETS_DIR): no folder '$DATASETS_DIR'"
    [[ -r $DATASETS_DIR/mnist.npz ]] ||
      mistake "--datasets (DATASETS_DIR): no mnist.npz in '$DATASETS_DIR'"
    DATASETS_DIR=$(realpath -- "$DATASETS_DIR")
  fi
  PYTHON38=${PYTHON38:-}
  if [[ -n $PYTHON38 ]]; then
    [[ -x $PYTHON38/bin/python3.8 ]] ||
      mistake "--python38 (PYTHON38): no bin/python3.8 in '$PYTHON38'"
    PYTHON38=$(realpath -- "$PYTHON38")
  fi
}

yes_or_no() {
  case ${!2:-no} in # empty or unset: no
    yes | true | 1) printf yes ;;
    no | false | 0) ;;
    *) mistake "$1 ($2) is yes or no, not '${!2}'" ;;
  esac
}
