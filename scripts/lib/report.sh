# shellcheck shell=bash
# What the user needs to know at the end.

report() {
  local address=${BIND_ADDRESS:-127.0.0.1} services url key
  if [[ $address == 0.0.0.0 ]]; then
    address=$(hostname -I | awk '{print $1}')
    warn "the ports are open to the network, the token goes over it in clear: JUPYTER_CERTFILE and JUPYTER_KEYFILE help, or ssh -L"
  fi
  # The container knows best: keys may also come with the home volume.
  services=$(docker exec "$CONTAINER" cat /run/workbench/services)
  info ''
  if grep -qx jupyter <<<"$services"; then
    url=$(docker exec -u user "$CONTAINER" jupyter-url)
    [[ $url == *token=* ]] || url+=' (with the token or password you gave)'
    info "Jupyter:   ${url/127.0.0.1/"$address"}"
  fi
  if grep -qx ssh <<<"$services"; then
    info "SSH:       ssh -p 2222 user@$address"
    key=$(docker exec "$CONTAINER" ssh-keygen -lf /etc/ssh/host_keys/ssh_host_ed25519_key)
    info "Host key:  $(awk '{print $2, $NF}' <<<"$key")"
  else
    docker logs "$CONTAINER" 2>&1 | sed -n 's/^SSH: off/SSH:       off/p' | tail -n 1
  fi
  if grep -qx tensorboard <<<"$services"; then
    info "TensorBoard: http://$address:6006/ (without a login)"
  fi
  docker exec "$CONTAINER" gpu-lines
  # What the start had to say, such as a folder that the user cannot write to.
  docker logs "$CONTAINER" 2>&1 | grep '^warning: ' | sort -u || (($? == 1))
}
