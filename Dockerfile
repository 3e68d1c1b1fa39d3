# How the image is made. scripts/build calls it; so does plain `docker build .`
# where a registry and the public data sets can be reached.
#
#   base-check   is the base what the image claims?
#   datasets     MNIST, from a folder (--build-context datasets=DIR) or its source
#   system       Debian packages: also built on a bare Debian 11 by the tests
#   packages     Python packages, from one lock with hashes
#   workbench    our own files, last, so that an edit rebuilds in seconds
#   nvml-stub    a stand-in for the driver's library, for the tests
#   test         the image with pytest and the unit tests

# The official GPU image of TensorFlow 2.9.1, by digest.
ARG BASE_IMAGE=tensorflow/tensorflow:2.9.1-gpu@sha256:a34c2420739cd5a7b5662449bc21eb32d3d1c98063726ae2bd7db819cc93d72f


FROM ${BASE_IMAGE} AS base-check
RUN --mount=type=bind,source=docker/check_base.py,target=/check_base.py \
    python3 -B /check_base.py >/base.json


# The same file that keras.datasets.mnist.load_data() of TensorFlow 2.9 takes.
FROM scratch AS datasets
ADD --checksum=sha256:731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1 \
    https://storage.googleapis.com/tensorflow/tf-keras-datasets/mnist.npz /mnist.npz


FROM ${BASE_IMAGE} AS system
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
# NVIDIA's package lists have broken builds since the key change of April 2022, and
# nothing here comes from them. The official base leaves bash.bashrc writable by all.
RUN rm -f /etc/apt/sources.list.d/{cuda,nvidia-ml,tensorRT}*.list; \
    chmod 0644 /etc/bash.bashrc
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get update; \
    apt-get install -y --no-install-recommends \
      # TLS for git, curl and pip
      ca-certificates \
      # fetching by hand
      curl \
      # people's own projects
      git \
      # what git and others page through
      less \
      # an editor for everybody
      nano \
      # SSH on port 2222; brings ssh and scp
      openssh-server \
      # ps, top, and the pkill of docker/stop.sh
      procps \
      # copying a project over SSH
      rsync \
      # process 1: passes signals on, reaps orphans
      tini \
      # work that survives the logout
      tmux \
      # the editor that git falls back to
      vim-tiny; \
    # Host keys belong to a container, never to an image.
    rm -f /etc/ssh/ssh_host_*; \
    # Setuid for host-based logins, which are off.
    chmod u-s /usr/lib/openssh/ssh-keysign; \
    # Logs of the build tell nobody anything, and differ each time.
    find /var/log -type f -exec truncate -s 0 {} +


FROM system AS packages
COPY --link --from=base-check /base.json /opt/workbench/base.json
# The base's pip is older than 20.3 and cannot read the names of today's wheels.
# `ca` is a build secret: a company's own CA.
RUN --mount=type=secret,id=ca \
    --mount=type=cache,target=/root/.cache/pip \
    --mount=type=bind,source=docker/pip.lock,target=/pip.lock \
    --mount=type=bind,source=docker/requirements.lock,target=/requirements.lock \
    [[ ! -s /run/secrets/ca ]] || export PIP_CERT=/run/secrets/ca; \
    export PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1; \
    python3 -m pip install --no-compile --require-hashes -r /pip.lock; \
    python3 -m pip install --no-compile --no-deps --require-hashes -r /requirements.lock; \
    python3 -m pip check; \
    python3 -Bc 'import tensorflow'
# Byte code made now makes every first start faster: docs/decisions.md. Unchecked, since
# a rebuild may change the files' times.
RUN mapfile -t folders < <(python3 -c "import os, numpy, sysconfig; \
      print(sysconfig.get_path('stdlib'), os.path.dirname(os.path.dirname(numpy.__file__)), sep='\n')"); \
    python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash \
      -x '/(tests?|lib2to3)/' "${folders[@]}"


FROM packages AS workbench
RUN groupadd --gid 1000 user; \
    # No password: `*` lets keys in, where `!` would be a locked account.
    useradd --uid 1000 --gid 1000 --create-home --password '*' \
      --shell /opt/workbench/login-shell user; \
    # What our own programs start with, whatever PATH a container is given.
    ln -s "$(command -v python3)" /opt/workbench/python3; \
    install -d -o user -g user /workspace /var/cache/cuda; \
    install -d -m 0700 /etc/ssh/host_keys; \
    site=$(python3 -c 'import numpy, pathlib; print(pathlib.Path(numpy.__file__).parents[1])'); \
    # `python -m workbench.…` from anywhere.
    ln -s /opt/workbench/workbench "$site/workbench"; \
    ln -s /opt/workbench/{train,bench,doctor,audit,healthcheck,jupyter-url,gpu-lines} /usr/local/bin/

# The base leaves DEBIAN_FRONTEND=noninteractive behind. The JIT cache matters for GPUs newer
# than the wheel's machine code (8.0 and up): too small a cache compiles at each start.
ENV DEBIAN_FRONTEND= \
    SHELL=/bin/bash \
    WORKBENCH_PATH=${PATH} \
    WORKBENCH_DATASETS=/opt/workbench/datasets \
    TF_FORCE_GPU_ALLOW_GROWTH=true \
    CUDA_CACHE_PATH=/var/cache/cuda \
    CUDA_CACHE_MAXSIZE=2147483648

COPY --link --from=datasets /mnist.npz /opt/workbench/datasets/mnist.npz
COPY --link docker/etc/ /etc/
# No news from the network, no pop-up that asks for it.
COPY --link docker/lab/overrides.json /usr/local/share/jupyter/lab/settings/
COPY --link docker/start/ /opt/workbench/start/
COPY --link docker/services/ /opt/workbench/services/
COPY --link docker/bin/ docker/serve docker/login-shell docker/log.sh docker/stop.sh \
     docker/jupyter_server_config.py /opt/workbench/
COPY --link workbench/ /opt/workbench/workbench/
COPY --link train.py /opt/workbench/
# Checked: an edit of our own files takes effect.
RUN python3 -m compileall -q --invalidation-mode checked-hash /opt/workbench

WORKDIR /workspace
EXPOSE 8888 2222 6006
# A service that hangs is found within 28 s: twice an interval and a time-out.
HEALTHCHECK --interval=10s --timeout=4s --start-period=30s --retries=2 CMD ["healthcheck"]
# -s: reaps orphans also where Docker brings an init of its own (docker run --init).
ENTRYPOINT ["/usr/bin/tini", "-s", "--", "/opt/workbench/entrypoint"]
CMD []


# A stand-in for the library of NVIDIA's driver: tests/nvml-stub. The tests play every card with it.
FROM system AS nvml-stub
RUN --mount=type=cache,target=/var/cache/apt,sharing=locked \
    --mount=type=cache,target=/var/lib/apt/lists,sharing=locked \
    apt-get update; \
    apt-get install -y --no-install-recommends gcc libc6-dev make
RUN --mount=type=bind,source=tests/nvml-stub,target=/src \
    make -f /src/Makefile SOURCES=/src OUT=/nvml-stub


FROM workbench AS test
RUN --mount=type=secret,id=ca \
    --mount=type=cache,target=/root/.cache/pip \
    --mount=type=bind,source=docker/requirements-test.lock,target=/requirements-test.lock \
    [[ ! -s /run/secrets/ca ]] || export PIP_CERT=/run/secrets/ca; \
    python3 -m pip install --no-deps --require-hashes -r /requirements-test.lock
COPY --link --from=nvml-stub /nvml-stub/ /opt/workbench/tests/nvml-stub/
COPY --link pyproject.toml /opt/workbench/
COPY --link tests/unit/ /opt/workbench/tests/unit/
WORKDIR /opt/workbench
CMD ["python", "-m", "pytest", "-p", "no:cacheprovider", "tests/unit"]


# The last stage is what `docker build .` gives.
FROM workbench
