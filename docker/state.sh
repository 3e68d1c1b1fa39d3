# shellcheck shell=bash
# Where this container keeps what its services need to know: one folder, private.
# docker/start/state.py finds the same one.

if ((EUID == 0)); then
  export WORKBENCH_RUN=/run/workbench
else
  export WORKBENCH_RUN=/tmp/workbench-$EUID
fi
