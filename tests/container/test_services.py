"""Services that die, hang or are told to stop; orphans; health."""

from __future__ import annotations

import subprocess
import time

import pytest
import requests

from conftest import ROOT, Workbench, wait_until

STOP_S = 2.0


def process_of(workbench: Workbench, service: str) -> str:
    """The service's own process, not its sessions and kernels: the oldest of its name."""
    pattern = {"jupyter": ["-f", "jupyter-lab"], "ssh": ["-x", "sshd"]}[service]
    return workbench.run("pgrep", "-o", *pattern, user="root")[1].strip()


def seconds_to_stop(workbench: Workbench) -> float:
    begin = time.monotonic()
    subprocess.run(["docker", "stop", workbench.container.id], check=True, capture_output=True)
    return time.monotonic() - begin


@pytest.mark.soak
def test_stop(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    assert seconds_to_stop(workbench) < STOP_S
    assert workbench.ended() == 0


@pytest.mark.soak
def test_stop_with_a_kernel_and_sessions_open(start, public_key: str) -> None:
    given = {"AUTHORIZED_KEYS": public_key, "JUPYTER_TOKEN": "t"}
    workbench = start(environment=given).wait_ready()
    kernels = f"http://127.0.0.1:{workbench.port(8888)}/api/kernels?token=t"
    assert requests.post(kernels, timeout=30).status_code == 201
    wait_until(lambda: workbench.run("pgrep", "-f", "ipykernel_launcher")[0] == 0, 30, "the kernel")
    session = subprocess.Popen(
        workbench.ssh_command("-tt"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    wait_until(lambda: workbench.run("pgrep", "-x", "bash")[0] == 0, 30, "the session's shell")
    exec_id = workbench.container.client.api.exec_create(
        workbench.container.id, ["bash"], tty=True, stdin=True, user="user"
    )
    workbench.container.client.api.exec_start(exec_id["Id"], detach=True, tty=True)
    assert seconds_to_stop(workbench) < STOP_S
    assert workbench.ended() == 0
    session.communicate(timeout=10)


def test_stop_lets_work_over_ssh_save(start, public_key: str, tmp_path) -> None:
    tmp_path.chmod(0o777)
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key}, volumes={str(tmp_path): {"bind": "/workspace"}}
    ).wait_ready()
    program = (
        "import signal, time, pathlib\n"
        "def save(*_): time.sleep(1); pathlib.Path('saved').touch(); raise SystemExit\n"
        "signal.signal(signal.SIGTERM, save)\n"
        "pathlib.Path('ready').touch()\n"
        "while True: signal.pause()\n"
    )
    (tmp_path / "work.py").write_text(program)
    workbench.ssh("cd /workspace; nohup python work.py >/dev/null 2>&1 &")
    wait_until((tmp_path / "ready").exists, 30, "the work has begun")
    workbench.container.stop()
    assert workbench.ended() == 0
    assert (tmp_path / "saved").exists()


def test_stop_with_a_service_that_does_not_listen(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    workbench.run("kill", "-STOP", process_of(workbench, "jupyter"), user="root")
    # Its patience is 1.5 s; docker stop itself would kill after 10 s.
    assert seconds_to_stop(workbench) < 2 * STOP_S
    assert workbench.ended() == 0


def test_a_lost_terminal_is_a_stop(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    workbench.container.kill("SIGHUP")
    assert workbench.ended() == 0


def test_a_death_after_the_window_counts_anew(start, public_key: str, tmp_path) -> None:
    quick = tmp_path / "serve"
    quick.write_text((ROOT / "docker/serve").read_text().replace("window_s=60", "window_s=1"))
    quick.chmod(0o755)
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key, "SERVICES": "ssh"},
        volumes={str(quick): {"bind": "/opt/workbench/serve", "mode": "ro"}},
    ).wait_ready()
    for killed in range(1, 6):
        died = time.monotonic()
        wait_until(lambda d=died: time.monotonic() - d > 2.5, 5, "longer than the window")
        workbench.run("kill", "-9", process_of(workbench, "ssh"), user="root")
        wait_until(
            lambda n=killed: workbench.logs().count("ended with status 137") == n, 5, "its end"
        )
        workbench.wait_ready()
    workbench.container.stop()
    assert workbench.ended() == 0


@pytest.mark.soak
def test_stop_during_the_start(start) -> None:
    workbench = start()
    assert seconds_to_stop(workbench) < STOP_S
    assert workbench.ended() in (0, 143)  # 143: Docker was quicker than our first line


def test_a_keeper_that_is_killed_is_named(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    parent = ["ps", "-o", "ppid=", "-p", process_of(workbench, "ssh")]
    workbench.run("kill", "-9", workbench.run(*parent)[1].strip(), user="root")
    assert workbench.ended() == 70
    assert "what kept service ssh was ended from outside, with status 137" in workbench.logs()


def test_an_empty_folder_that_docker_made_is_given_to_the_user(start, tmp_path) -> None:
    mounts = {str(tmp_path / name): {"bind": f"/{name}"} for name in ("workspace", "home/user")}
    workbench = start(volumes=mounts).wait_ready()
    assert "warning" not in workbench.logs()
    assert workbench.run("touch", "/workspace/here", "/home/user/here")[0] == 0


def test_a_folder_with_files_of_another_owner_keeps_them(start, tmp_path) -> None:
    (tmp_path / "theirs").touch()
    workbench = start(volumes={str(tmp_path): {"bind": "/workspace"}}).wait_ready()
    warning = "1000:1000 cannot write to /workspace, which belongs to 0:0; on the host: chown"
    assert warning in workbench.logs()
    assert tmp_path.stat().st_uid == 0


@pytest.mark.soak
@pytest.mark.parametrize("service", ["jupyter", "ssh"])
def test_a_killed_service_is_brought_back(start, public_key: str, service: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    first = process_of(workbench, service)
    assert workbench.run("kill", "-9", first, user="root")[0] == 0
    warning = f"warning: service {service} ended with status 137 and is started again"
    wait_until(lambda: warning in workbench.logs(), 10, warning)
    workbench.wait_ready()
    assert process_of(workbench, service) != first


@pytest.mark.parametrize("service", ["jupyter", "ssh"])
def test_a_service_that_cannot_be_kept_ends_the_container(
    start, public_key: str, service: str
) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    for killed in range(1, 5):
        seen = wait_until(lambda: process_of(workbench, service), 30, f"{service} is there")
        assert workbench.run("kill", "-9", seen, user="root")[0] == 0
        wait_until(
            lambda n=killed: workbench.logs().count(f"service {service} ended") == n,
            10,
            f"death {killed}",
        )
    assert workbench.ended() == 70
    error = f"error: service {service} ended 4 times within 60 s, at last with status 137"
    assert error in workbench.logs()
    assert "Killed" not in workbench.logs()  # bash's own words


def test_a_broken_setting_of_sshd_is_named(start, public_key: str, tmp_path) -> None:
    config = tmp_path / "sshd_config"
    config.write_text("Port 2222\nNoSuchWord yes\n")
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        volumes={str(config): {"bind": "/etc/ssh/sshd_config", "mode": "ro"}},
    )
    assert workbench.ended() == 70
    assert "error: service ssh cannot start" in workbench.logs()
    assert "NoSuchWord" in workbench.logs()


@pytest.mark.soak
def test_orphans_are_reaped(start) -> None:
    workbench = start().wait_ready()
    for _ in range(10):
        workbench.run("sh", "-c", "(sleep 0.1 & exec true) & exit 0")
    zombies = ["sh", "-c", "grep -l '^State:.Z' /proc/[0-9]*/status"]
    wait_until(lambda: workbench.run("pgrep", "-x", "sleep")[0] == 1, 10, "the orphans end")
    wait_until(lambda: workbench.run(*zombies)[1] == "", 5, "no zombie is left")


def test_health_names_the_service_that_hangs(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()

    def docker_says(state: str) -> bool:
        workbench.container.reload()
        return workbench.container.attrs["State"]["Health"]["Status"] == state

    wait_until(lambda: docker_says("healthy"), 30, "Docker's own health status")
    assert workbench.run("healthcheck", user="root") == (0, "healthy\n")
    hung = process_of(workbench, "ssh")
    workbench.run("kill", "-STOP", hung, user="root")
    assert workbench.run("healthcheck", user="root") == (1, "ssh does not answer (timed out)\n")
    wait_until(lambda: docker_says("unhealthy"), 30, "unhealthy")
    workbench.run("kill", "-CONT", hung, user="root")
    wait_until(lambda: docker_says("healthy"), 30, "healthy again")


def test_a_command_is_healthy_as_long_as_it_runs(start) -> None:
    assert start("sleep", "60").healthy()


def test_the_health_check_leaves_no_trace_in_the_log(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    before = workbench.logs()
    for _ in range(5):
        assert workbench.healthy()
    assert workbench.ssh("true").returncode == 0
    wait_until(lambda: "Disconnected from user user" in workbench.logs(), 10, "a line of sshd")
    new = workbench.logs()[len(before) :]
    assert "kex_exchange" not in new
    assert "Connection reset" not in new
    assert "Connection closed by 127.0.0.1" not in new


def test_log_lines_carry_the_services_name(start, public_key: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    assert workbench.ssh("true").returncode == 0
    wait_until(lambda: "ssh | Accepted publickey for user" in workbench.logs(), 10, "sshd's line")


# Ways to run a container: what they take away, and what works all the same.
CAPABILITIES = ["SETUID", "SETGID", "SYS_CHROOT", "KILL", "CHOWN", "AUDIT_WRITE"]
MODES = {
    "init": {"init": True},
    "no new privileges": {"security_opt": ["no-new-privileges"]},
    "few capabilities": {"cap_drop": ["ALL"], "cap_add": CAPABILITIES},
    "host's processes": {"pid_mode": "host"},
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
def test_ways_to_run(start, public_key: str, mode: dict) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}, **mode).wait_ready()
    assert "warn" not in workbench.logs().lower()
    assert workbench.ssh("id -un").stdout == b"user\n"
    assert workbench.run("jupyter-url")[1].startswith("http://127.0.0.1:8888/lab?token=")
    assert seconds_to_stop(workbench) < STOP_S
    assert workbench.ended() == 0


def test_another_user_serves_jupyter_and_says_that_ssh_is_off(start, public_key: str) -> None:
    given = {"AUTHORIZED_KEYS": public_key, "JUPYTER_TOKEN": "t"}
    workbench = start(environment=given, user="1234:1234").wait_ready()
    assert "SSH: off, because it needs a start as root; leave out --user" in workbench.logs()
    assert "1234:1234 cannot write to /workspace, which belongs to 1000:1000" in workbench.logs()
    kernels = f"http://127.0.0.1:{workbench.port(8888)}/api/kernels?token=t"
    assert requests.post(kernels, timeout=30).status_code == 201
    assert seconds_to_stop(workbench) < STOP_S
    assert workbench.ended() == 0


def test_no_place_for_a_host_key(start, public_key: str) -> None:
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        read_only=True,
        tmpfs={"/run": "", "/tmp": "", "/home/user": "uid=1000", "/workspace": "uid=1000"},
    )
    assert workbench.ended() == 2
    error = "error: the host key cannot be kept in /etc/ssh/host_keys (Read-only file system): "
    assert workbench.logs() == f"{error}mount a volume with room there\n"


def test_read_only_root(start, public_key: str) -> None:
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        read_only=True,
        tmpfs={
            **{"/run": "exec", "/tmp": "", "/etc/ssh/host_keys": "mode=0700"},
            **{"/home/user": "uid=1000,gid=1000", "/workspace": "uid=1000,gid=1000"},
        },
    ).wait_ready()
    assert workbench.ssh("touch here /workspace/there && echo done").stdout == b"done\n"
