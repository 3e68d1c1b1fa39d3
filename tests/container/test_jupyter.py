"""Jupyter in the browser: who gets in, and what the log says."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import requests

from conftest import IMAGE, Workbench, docker_run, wait_until

URL = re.compile(r"^Jupyter: (http://127\.0\.0\.1:8888/lab\?token=([0-9a-f]{48}))$", re.MULTILINE)


def at_host(workbench: Workbench, path: str) -> str:
    return f"http://127.0.0.1:{workbench.port(8888)}{path}"


def token_of(workbench: Workbench) -> str:
    return URL.search(workbench.logs()).group(2)


@pytest.mark.parametrize("page", ["/lab", "/tree"])
def test_the_printed_token_opens(workstation: Workbench, page: str) -> None:
    answer = requests.get(at_host(workstation, page), {"token": token_of(workstation)}, timeout=30)
    assert answer.status_code == 200
    assert "/login" not in answer.url


def test_without_the_token(workstation: Workbench) -> None:
    assert requests.get(at_host(workstation, "/api/contents"), timeout=30).status_code == 403
    page = requests.get(at_host(workstation, "/lab"), timeout=30, allow_redirects=False)
    assert page.status_code == 302
    assert page.headers["Location"].startswith("/login")
    wrong = requests.get(at_host(workstation, "/api/contents"), {"token": "0" * 48}, timeout=30)
    assert wrong.status_code == 403


def test_the_token_stands_once_in_the_log_and_in_no_process(workstation: Workbench) -> None:
    token = token_of(workstation)
    requests.get(at_host(workstation, "/lab"), {"token": token}, timeout=30)
    assert workstation.logs().count(token) == 1
    assert workstation.run("jupyter-url") == (0, URL.search(workstation.logs()).group(1) + "\n")
    seen = workstation.run("sh", "-c", "cat /proc/*/cmdline /proc/[0-9]*/environ", user="root")[1]
    assert token not in seen


def test_an_error_does_not_put_the_token_into_the_log(start) -> None:
    workbench = start(environment={"JUPYTER_TOKEN": "my-own-token"}).wait_ready()
    for page in ("/api/contents/none", "/api/kernels/none", "/files/none", "/no/such/page"):
        requests.get(at_host(workbench, page), {"token": "my-own-token"}, timeout=30)
    wait_until(lambda: "/api/contents/none?token=[secret]" in workbench.logs(), 10, "the error")
    assert "my-own-token" not in workbench.logs()


def test_lab_asks_for_nothing_from_the_network(workstation: Workbench) -> None:
    page = at_host(workstation, "/lab/api/settings/@jupyterlab/apputils-extension:notification")
    settings = requests.get(page, {"token": token_of(workstation)}, timeout=30).json()["schema"]
    assert settings["properties"]["fetchNews"]["default"] == "false"
    assert settings["properties"]["checkForUpdates"]["default"] is False


def test_a_kernel_runs_a_cell_as_the_user(workstation: Workbench) -> None:
    client = (
        "import os; from jupyter_client.manager import start_new_kernel\n"
        "manager, client = start_new_kernel()\n"
        "client.execute_interactive('import os; print(os.getuid(), os.getcwd())')\n"
        "client.stop_channels(); manager.shutdown_kernel()"
    )
    status, output = workstation.run("python", "-c", client)
    assert (status, output.splitlines()[0]) == (0, "1000 /workspace")


def test_a_fresh_token_each_container(start) -> None:
    tokens = {token_of(start().wait_ready()) for _ in range(2)}
    assert len(tokens) == 2


def test_a_given_token_is_used_and_not_printed(start, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("my-own-token\n")
    mount = {str(tmp_path): {"bind": "/run/secrets", "mode": "ro"}}
    by_file = start(environment={"JUPYTER_TOKEN_FILE": "/run/secrets/token"}, volumes=mount)
    by_name = start(environment={"JUPYTER_TOKEN": "my-own-token"})
    for workbench in (by_file.wait_ready(), by_name.wait_ready()):
        page = at_host(workbench, "/api/contents")
        assert requests.get(page, {"token": "my-own-token"}, timeout=30).status_code == 200
        assert requests.get(page, timeout=30).status_code == 403
        assert "my-own-token" not in workbench.logs()
        assert workbench.run("jupyter-url") == (0, "http://127.0.0.1:8888/lab\n")
        # A kernel's or terminal's environment comes from the server's.
        server = workbench.run("pgrep", "-f", "jupyter-lab")[1].split()[0]
        assert "my-own-token" not in workbench.run("cat", f"/proc/{server}/environ", user="root")[1]


def test_an_empty_token_does_not_open_the_door(start) -> None:
    workbench = start(environment={"JUPYTER_TOKEN": ""}).wait_ready()
    assert requests.get(at_host(workbench, "/api/contents"), timeout=30).status_code == 403


def test_a_token_file_from_an_editor_that_marks_utf8(start, tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xef\xbb\xbfmy-own-token\r\n")
    workbench = start(
        environment={"JUPYTER_TOKEN_FILE": "/run/secrets/token"},
        volumes={str(tmp_path): {"bind": "/run/secrets", "mode": "ro"}},
    ).wait_ready()
    page = at_host(workbench, "/api/contents")
    assert requests.get(page, {"token": "my-own-token"}, timeout=30).status_code == 200


def test_password(start, tmp_path: Path) -> None:
    hashing = "from jupyter_server.auth import passwd; print(passwd('open sesame'))"
    (tmp_path / "hash").write_text(docker_run(IMAGE, "python", "-c", hashing).stdout)
    workbench = start(
        environment={"JUPYTER_PASSWORD_HASH_FILE": "/run/secrets/hash"},
        volumes={str(tmp_path): {"bind": "/run/secrets", "mode": "ro"}},
    ).wait_ready()
    browser = requests.Session()
    browser.get(at_host(workbench, "/login"), timeout=30)
    form = {"_xsrf": browser.cookies["_xsrf"], "password": "open sesame"}
    browser.post(at_host(workbench, "/login"), form, timeout=30)
    assert browser.get(at_host(workbench, "/api/contents"), timeout=30).status_code == 200
    assert requests.get(at_host(workbench, "/api/contents"), timeout=30).status_code == 403


def test_base_url(start) -> None:
    workbench = start(environment={"JUPYTER_BASE_URL": "/ann/work"}).wait_ready()
    assert "http://127.0.0.1:8888/ann/work/lab?token=" in workbench.logs()
    assert requests.get(at_host(workbench, "/ann/work/api"), timeout=30).status_code == 200
    assert requests.get(at_host(workbench, "/api"), timeout=30).status_code == 404


def test_certificate(start, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    making = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1 "
        "-keyout /pair/key.pem -out /pair/cert.pem"
    )
    made = docker_run("-v", f"{tmp_path}:/pair", IMAGE, "sh", "-c", making)
    assert made.returncode == 0, made.stderr
    # As private keys usually are: for root alone.
    (tmp_path / "key.pem").chmod(0o600)
    os.chown(tmp_path / "key.pem", 0, 0)
    names = {"JUPYTER_CERTFILE": "/pair/cert.pem", "JUPYTER_KEYFILE": "/pair/key.pem"}
    mount = {str(tmp_path): {"bind": "/pair", "mode": "ro"}}
    workbench = start(environment=names, volumes=mount).wait_ready()
    assert "Jupyter: https://127.0.0.1:8888/lab?token=" in workbench.logs()
    page = f"https://127.0.0.1:{workbench.port(8888)}/api"
    assert requests.get(page, verify=tmp_path / "cert.pem", timeout=30).status_code == 200


def test_tensorboard_is_the_third_service(start) -> None:
    workbench = start(environment={"SERVICES": "tensorboard"})
    page = f"http://127.0.0.1:{workbench.port(6006)}/"

    def answers() -> bool:
        try:
            return "TensorBoard" in requests.get(page, timeout=5).text
        except requests.ConnectionError:
            return False

    wait_until(answers, 60, "TensorBoard's page")
    assert workbench.healthy()
    assert "Jupyter:" not in workbench.logs()
