# shellcheck shell=bash
# What the user needs to know at the end.

report() {
  local address=${BIND_ADDRESS:-127.0.0.1} services url key
  [[ $address != 0.0.0.0 ]] || address=127.0.0.1
  # The container knows best: keys may also come with the home volume.
  services=$(docker exec "$CONTAINER" cat /run/workbench/services)
  info ''
  if grep -qx jupyter <<<"$services"; then
    url=$(docker exec -u user "$CONTAINER" jupyter-url)
    info "Jupyter:   ${url/127.0.0.1/"$address"}"
  fi
  if grep -qx ssh <<<"$services"; then
    info "SSH:       ssh -p 2222 user@$address"
    key=$(docker exec "$CONTAINER" ssh-keygen -lf /etc/ssh/host_keys/ssh_host_ed25519_key)
    info "Host key:  $(awk '{print $2, $NF}' <<<"$key")"
  fi
  if grep -qx tensorboard <<<"$services"; then
    info "TensorBoard: http://$address:6006/"
  fi
  docker exec "$CONTAINER" gpu-lines
}
