# shellcheck shell=sh
# /etc/profile resets PATH. Give a login shell the image's own again.
if [ -n "${WORKBENCH_PATH-}" ]; then
  PATH=$WORKBENCH_PATH
  export PATH
fi
