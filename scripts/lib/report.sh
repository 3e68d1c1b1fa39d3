# shellcheck shell=bash
# What the user needs to know at the end.

report() {
  local address=${BIND_ADDRESS:-127.0.0.1} services=,${SERVICES:-jupyter,ssh}, url key
  [[ $address != 0.0.0.0 ]] || address=127.0.0.1
  info ''
  if [[ $services == *,jupyter,* ]]; then
    url=$(docker exec -u user "$CONTAINER" jupyter-url)
    info "Jupyter:   ${url/127.0.0.1/"$address"}"
  fi
  if [[ $services == *,ssh,* && -n ${AUTHORIZED_KEYS:-}${AUTHORIZED_KEYS_FILE:-} ]]; then
    info "SSH:       ssh -p 2222 user@$address"
    key=$(docker exec "$CONTAINER" ssh-keygen -lf /etc/ssh/host_keys/ssh_host_ed25519_key)
    info "Host key:  $(awk '{print $2, $NF}' <<<"$key")"
  fi
  if [[ $services == *,tensorboard,* ]]; then
    info "TensorBoard: http://$address:6006/"
  fi
  docker exec "$CONTAINER" gpu-lines
}
