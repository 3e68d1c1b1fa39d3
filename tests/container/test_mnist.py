"""Fetching MNIST: from the first source that has it, whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import re
import subprocess
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

ROOT = Path(__file__).resolve().parents[2]
IMAGE = os.environ.get("WORKBENCH_IMAGE", "tf29-workbench")
IDX_NAMES = {
    "x_train": ("train-images-idx3-ubyte.gz", (60000, 28, 28)),
    "y_train": ("train-labels-idx1-ubyte.gz", (60000,)),
    "x_test": ("t10k-images-idx3-ubyte.gz", (10000, 28, 28)),
    "y_test": ("t10k-labels-idx1-ubyte.gz", (10000,)),
}


def idx(npz: bytes, name: str) -> bytes:
    """One array of the archive in the format that the original has."""
    plain = zipfile.ZipFile(io.BytesIO(npz)).read(f"{name}.npy")
    shape = IDX_NAMES[name][1]
    header = bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape)
    content = plain[10 + int.from_bytes(plain[8:10], "little") :]
    return gzip.compress(header + content, compresslevel=1)


def repacked(npz: bytes, *, flip: bool = False) -> bytes:
    """The same arrays in another file; with ``flip``, one label is another one."""
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(npz)) as old, zipfile.ZipFile(whole, "w") as new:
        for name in old.namelist():
            content = bytearray(old.read(name))
            if flip and name == "y_test.npy":
                content[-1] ^= 1
            new.writestr(name, bytes(content))
    return whole.getvalue()


@pytest.fixture(scope="module")
def npz() -> bytes:
    """The file that the image under test was built with."""
    copy = ["docker", "run", "--rm", "--entrypoint", "cat", IMAGE]
    path = "/opt/workbench/datasets/mnist.npz"
    return subprocess.run([*copy, path], capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def server(npz: bytes) -> Iterator[str]:
    """A web server with every kind of source; gives its address."""
    files = {
        "/mnist.npz": npz,
        "/repacked.npz": repacked(npz),
        "/wrong.npz": repacked(npz, flip=True),
        "/page.npz": b"<html>This network asks you to log in</html>",
        "/cut.npz": npz,
    }
    for name, (file, _) in IDX_NAMES.items():
        files[f"/idx/{file}"] = idx(npz, name)
        files[f"/mixed/{file}"] = idx(npz, name.replace("x_test", "x_train"))
        files[f"/damaged/{file}"] = files[f"/idx/{file}"][:-2000]

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = files.get(self.path)
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if "cut" in self.path else body)

        def log_message(self, *_: object) -> None:
            """Stay quiet."""

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    http.server_close()


def mnist(folder: Path, *arguments: str, sources: str = "") -> subprocess.CompletedProcess[str]:
    """docker/datasets/mnist.py, as scripts/build runs it, but on this machine's network."""
    return subprocess.run(
        [
            *("docker", "run", "--rm", "--network", "host", "--entrypoint", "python"),
            *("--user", f"{os.getuid()}:{os.getgid()}", "--env", f"MNIST_SOURCES={sources}"),
            *("--volume", f"{ROOT}/docker/datasets/mnist.py:/mnist.py:ro"),
            *("--volume", f"{folder}:/data", "--workdir", "/data", IMAGE, "/mnist.py"),
            *arguments,
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(
    ("sources", "used"),
    [
        pytest.param("mnist.npz", "mnist.npz", id="npz"),
        pytest.param("repacked.npz", "repacked.npz", id="packed in another way"),
        pytest.param("idx/", "idx/", id="the original's files"),
        pytest.param("none.npz wrong.npz idx/ mnist.npz", "idx/", id="third source"),
    ],
)
def test_first_right_source_is_taken(tmp_path: Path, server: str, sources: str, used: str) -> None:
    urls = " ".join(f"{server}/{source}" for source in sources.split())
    result = mnist(tmp_path, "fetch", ".", sources=urls)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == f"MNIST fetched from {server}/{used}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mnist.npz"]
    assert (tmp_path / "mnist.npz").stat().st_uid == os.getuid()
    assert mnist(tmp_path, "check", "mnist.npz").returncode == 0


@pytest.mark.parametrize(
    ("source", "why"),
    [
        pytest.param("wrong.npz", "its arrays are not MNIST's", id="one label is another"),
        pytest.param("cut.npz", r"cut off after \d+ of \d+ bytes|IncompleteRead", id="cut off"),
        pytest.param("page.npz", ".", id="a log-in page"),
        pytest.param("none.npz", "404|Not Found", id="not there"),
        pytest.param("mixed/", "its arrays are not MNIST's|reshape", id="files mixed up"),
        pytest.param("damaged/", "ended|CRC|end-of-stream", id="damaged gzip"),
    ],
)
def test_wrong_source_leaves_nothing(tmp_path: Path, server: str, source: str, why: str) -> None:
    result = mnist(tmp_path, "fetch", ".", sources=f"{server}/{source}")
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert f"{server}/{source}" in line
    assert re.search(why, line), line
    assert "--datasets DIR" in line
    assert list(tmp_path.iterdir()) == []


def test_all_sources_down_are_named(tmp_path: Path) -> None:
    result = mnist(tmp_path, "fetch", ".", sources="http://127.0.0.1:9/a.npz http://127.0.0.1:9/b/")
    (line,) = result.stderr.splitlines()
    assert result.returncode == 1
    assert "127.0.0.1:9/a.npz (" in line
    assert "127.0.0.1:9/b/ (" in line
    assert "--datasets DIR" in line


@pytest.mark.parametrize("content", ["nothing", "text", "other labels"])
def test_check_refuses_what_is_not_mnist(tmp_path: Path, npz: bytes, content: str) -> None:
    file = tmp_path / "mnist.npz"
    if content != "nothing":
        file.write_bytes(b"text" if content == "text" else repacked(npz, flip=True))
    result = mnist(tmp_path, "check", "mnist.npz")
    assert result.returncode == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: mnist.npz ")
