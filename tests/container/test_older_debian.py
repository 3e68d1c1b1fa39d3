"""The Debian part of the Dockerfile on Debian 11: glibc 2.31 and OpenSSH 8.4.

The official base is Ubuntu 20.04 with OpenSSH 8.2, which cannot be had everywhere; this is
the nearest to it. What differs between the two is declared as untested in the README.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, Workbench, wait_until

BARE, BUILT = "tf29-test-debian11", "tf29-test-debian11-system"
# What docker/start/ssh.py does at the start, by hand: this image has no Python.
START = """
useradd --uid 1000 --password '*' --create-home --shell /bin/bash user
mkdir -p /run/sshd /run/workbench /etc/ssh/host_keys
ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/host_keys/ssh_host_ed25519_key
printf '%s\\n' "$KEY" >/run/workbench/authorized_keys
/usr/sbin/sshd -t && exec /usr/sbin/sshd -D -e
"""


def mirror() -> str:
    """The Debian mirror of this machine's own apt configuration; empty: debootstrap's default."""
    form = "--format=$(ORIGIN) $(LABEL) $(REPO_URI)"
    targets = subprocess.run(
        ["apt-get", "indextargets", form, "Created-By: Packages"], capture_output=True, text=True
    ).stdout
    uris = [line.split()[-1] for line in targets.splitlines() if line.startswith("Debian Debian ")]
    return os.environ.get("APT_MIRROR") or (uris[0] if uris else "")


@pytest.fixture(scope="module")
def system_image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("needs root and debootstrap, as the compatible base does")
    root = tmp_path_factory.mktemp("debian11") / "root"
    command = ["debootstrap", "--variant=minbase", "bullseye", str(root), *filter(None, [mirror()])]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    # As awkward as the official base.
    (root / "etc/apt/sources.list.d/cuda.list").write_text("deb file:/cuda.invalid /\n")
    (root / "etc/bash.bashrc").chmod(0o777)
    with subprocess.Popen(["tar", "-C", str(root), "-c", "."], stdout=subprocess.PIPE) as tar:
        subprocess.run(["docker", "import", "-", BARE], stdin=tar.stdout, check=True)
    shutil.rmtree(root)
    base = ["--build-arg", f"BASE_IMAGE={BARE}", "--target", "system", "-t", BUILT]
    subprocess.run(["docker", "build", "-q", *base, str(ROOT)], check=True)
    yield BUILT
    subprocess.run(["docker", "rmi", "-f", BUILT, BARE], check=True, stdout=subprocess.DEVNULL)


def test_what_was_made_right(system_image: str) -> None:
    script = (
        "ls /etc/apt/sources.list.d; stat -c %a /etc/bash.bashrc; ls /etc/ssh | grep host_ ;"
        "ldd --version | head -n 1 | grep -o '2.31$'; command -v tini tmux git rsync pkill"
    )
    output = subprocess.run(
        ["docker", "run", "--rm", system_image, "bash", "-c", script],
        capture_output=True,
        text=True,
    ).stdout
    expected = [
        "644",
        "2.31",
        *(f"/usr/bin/{name}" for name in ["tini", "tmux", "git", "rsync", "pkill"]),
    ]
    assert output.split() == expected


def test_sshd_8_4_takes_our_settings(system_image: str, engine, key: Path, public_key: str) -> None:
    container = engine.containers.run(
        system_image,
        ["bash", "-euc", START],
        detach=True,
        environment={"KEY": public_key},
        ports={"2222/tcp": ("127.0.0.1", None)},
        volumes={
            str(ROOT / "docker/etc/ssh/sshd_config"): {"bind": "/etc/ssh/sshd_config", "mode": "ro"}
        },
    )
    try:
        workbench = Workbench(container, key)
        wait_until(lambda: "Server listening" in workbench.logs(), 20, "sshd listens")
        version = workbench.run("ssh", "-V", user="root")[1]
        assert version.startswith("OpenSSH_8.4"), version
        settings = workbench.run("/usr/sbin/sshd", "-T", user="root")[1].splitlines()
        for line in [
            "permitrootlogin no",
            "passwordauthentication no",
            # On this version it stands for what newer ones call KbdInteractive.
            "challengeresponseauthentication no",
            "kbdinteractiveauthentication no",
            "authenticationmethods publickey",
        ]:
            assert line in settings
        assert workbench.ssh("id -un").stdout == b"user\n"
        refused = workbench.ssh("true", user="root")
        assert b"Permission denied (publickey)" in refused.stderr
    finally:
        container.remove(force=True, v=True)
