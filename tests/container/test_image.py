"""What is in the image, and what is not."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import IMAGE, ROOT, docker_run

HOST_KEY = "ssh_host_"


def as_root(script: str) -> str:
    result = docker_run("--entrypoint", "bash", "--user", "0", IMAGE, "-c", script)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_versions() -> None:
    program = (
        "import json, platform, tensorflow as tf; b = tf.sysconfig.get_build_info()\n"
        "print(json.dumps([platform.python_version()[:4], tf.__version__, b['cuda_version'],"
        " b['cudnn_version'], b['is_cuda_build']]))"
    )
    seen = json.loads(docker_run(IMAGE, "python", "-c", program).stdout)
    assert seen == ["3.8.", "2.9.1", "11.2", "8", True]


def test_python_packages_fit_each_other() -> None:
    result = docker_run(IMAGE, "python", "-m", "pip", "check")
    assert (result.returncode, result.stdout) == (0, "No broken requirements found.\n")


def test_the_lock_is_what_is_installed() -> None:
    lock = (ROOT / "docker/requirements.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9._-]+)==(\S+)", lock, re.MULTILINE))
    listed = docker_run(IMAGE, "python", "-m", "pip", "list", "--format=json").stdout
    installed = {re.sub("[-_.]+", "-", p["name"]).lower(): p["version"] for p in json.loads(listed)}
    assert {name: installed.get(name) for name in locked} == locked


@pytest.mark.parametrize(
    "command", ["git", "tmux", "curl", "rsync", "less", "nano", "vi", "scp", "ps"]
)
def test_what_a_shell_needs(command: str) -> None:
    assert docker_run(IMAGE, "sh", "-c", f"command -v {command}").returncode == 0


def test_no_list_of_nvidia_is_left() -> None:
    assert as_root("ls -A /etc/apt/sources.list.d") == ""


def test_nothing_is_writable_by_all() -> None:
    places = as_root(
        "find / -xdev ! -type l -perm -0002 ! -path '/proc/*' ! -path '/dev/*'"
    ).split()
    assert set(places) <= {"/tmp", "/var/tmp", "/run/lock", "/var/lock"}


def test_no_setuid_bit_is_added() -> None:
    assert "ssh-keysign" not in as_root("find / -xdev -perm /6000 -type f")


def test_no_way_to_root() -> None:
    assert docker_run(IMAGE, "sh", "-c", "command -v sudo").returncode != 0
    assert as_root("getent shadow root user | cut -d: -f2").split() == ["*", "*"]


def test_no_secret_in_any_layer(tmp_path: Path) -> None:
    archive = tmp_path / "image.tar"
    subprocess.run(["docker", "save", "-o", str(archive), IMAGE], check=True)
    names: list[str] = []
    with tarfile.open(archive) as image:
        members = [m for m in image if m.isfile()]
        for member in members:
            stream = image.extractfile(member)
            if stream.read(2) in (b'{"', b"[{", b""):
                continue
            stream.seek(0)
            try:
                with tarfile.open(fileobj=stream, mode="r|*") as layer:
                    names += [entry.name for entry in layer]
            except tarfile.ReadError:
                continue
    archive.unlink()
    assert any(name.endswith("opt/workbench/train.py") for name in names)
    suspects = [
        n for n in names if HOST_KEY in n or n.endswith(("authorized_keys", "jupyter.json"))
    ]
    assert suspects == []
    assert [name for name in names if name.startswith("run/secrets/")] == []


def test_the_history_names_no_secret_and_no_host_of_ours() -> None:
    history = subprocess.run(
        ["docker", "history", "--no-trunc", "--format={{.CreatedBy}}", IMAGE],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "PIP_INDEX" not in history
    assert "://" not in history.replace("https://storage.googleapis.com", "")


def build(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["docker", "build", "--progress=plain", *arguments, str(ROOT)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def other_base(request: pytest.FixtureRequest, tmp_path: Path):
    """An image whose TensorFlow says of itself what the parameter gives."""
    tag = "tf29-test-other-base"
    (tmp_path / "tensorflow.py").write_text(request.param)
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE}\nCOPY tensorflow.py /fake/tensorflow.py\nENV PYTHONPATH=/fake\n"
    )
    subprocess.run(
        ["docker", "build", "-q", "-t", tag, str(tmp_path)], check=True, capture_output=True
    )
    yield tag
    subprocess.run(["docker", "rmi", "-f", tag], check=True, capture_output=True)


def fake_tensorflow(version: str, **build: object) -> str:
    """The source of a module that says of itself what is given."""
    return (
        f"__version__ = {version!r}\n"
        f"class sysconfig:\n    get_build_info = staticmethod(lambda: {build!r})\n"
    )


@pytest.mark.parametrize(
    ("other_base", "found"),
    [
        (fake_tensorflow("2.10.0", cuda_version="11.2", cudnn_version="8"), "tensorflow 2.10.0"),
        (fake_tensorflow("2.9.3", is_cuda_build=False), "cuda none, cudnn none"),
        (fake_tensorflow("2.9.1", cuda_version="11.8", cudnn_version="8"), "cuda 11.8"),
        ("raise ImportError('not here')", "tensorflow none (not here), cuda none, cudnn none"),
    ],
    ids=["newer", "no GPU wheel", "other CUDA", "no TensorFlow"],
    indirect=["other_base"],
)
def test_another_base_is_refused_in_one_line(other_base: str, found: str) -> None:
    result = build("--build-arg", f"BASE_IMAGE={other_base}", "--target", "base-check")
    assert result.returncode != 0
    said = [line for line in result.stderr.splitlines() if "error: BASE_IMAGE has" in line]
    assert any(
        f"error: BASE_IMAGE has {found}; this image needs Python 3.8" in line for line in said
    )
