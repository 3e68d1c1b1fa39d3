"""SSH: who gets in, what a session has, and what outlives it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from conftest import IMAGE, Workbench, wait_until

OFF = "SSH: off, because no key was given; add -e AUTHORIZED_KEYS="


def fingerprint(workbench: Workbench) -> str:
    def shown() -> list[str]:
        return [line for line in workbench.logs().splitlines() if line.startswith("SSH: ")]

    # A service may answer before the engine has passed on the line about it.
    line = wait_until(shown, 10, "the line about SSH")[0]
    return line.split("host key ")[1].rstrip(")")


def test_tensorflow_over_ssh(workstation: Workbench) -> None:
    result = workstation.ssh("python -c 'import tensorflow; print(tensorflow.__version__)'")
    assert (result.returncode, result.stdout) == (0, b"2.9.1\n")


def test_status_of_a_remote_command(workstation: Workbench) -> None:
    assert workstation.ssh("exit 7").returncode == 7


def test_root_is_refused(workstation: Workbench) -> None:
    result = workstation.ssh("true", user="root")
    assert result.returncode == 255
    assert b"Permission denied (publickey)" in result.stderr


@pytest.mark.parametrize("user", ["user", "root", "nobody"])
def test_nothing_but_keys_is_offered(workstation: Workbench, user: str) -> None:
    without_key = ("-o", "PubkeyAuthentication=no", "-o", "PreferredAuthentications=none")
    asked = workstation.ssh("true", *without_key, "-o", "BatchMode=yes", user=user)
    assert asked.returncode == 255
    assert asked.stderr.strip().endswith(b"Permission denied (publickey).")


def test_settings_in_force(workstation: Workbench) -> None:
    settings = workstation.run("/usr/sbin/sshd", "-T", user="root")[1].splitlines()
    for line in [
        "port 2222",
        "permitrootlogin no",
        "passwordauthentication no",
        "kbdinteractiveauthentication no",
        "authenticationmethods publickey",
        "permitemptypasswords no",
        "strictmodes yes",
        "allowusers user",
    ]:
        assert line in settings


def test_without_a_key_ssh_stays_off_and_says_how(start) -> None:
    workbench = start().wait_ready()
    lines = [line for line in workbench.logs().splitlines() if line.startswith("SSH:")]
    assert len(lines) == 1
    assert lines[0].startswith(OFF)
    assert workbench.run("pgrep", "-x", "sshd", user="root")[0] == 1


@pytest.fixture
def volume(engine):
    """A named volume; it outlives the containers of its test, and goes after them."""
    made = engine.volumes.create()
    yield made.name
    made.remove()


@pytest.mark.soak
def test_host_key_belongs_to_the_volume(volume: str, start, public_key: str) -> None:
    settings = {
        "environment": {"AUTHORIZED_KEYS": public_key},
        "volumes": {volume: {"bind": "/etc/ssh/host_keys"}},
    }
    first = start(**settings).wait_ready()
    first.container.stop()
    again = start(**settings).wait_ready()
    other = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    assert fingerprint(first) == fingerprint(again)
    assert fingerprint(first) != fingerprint(other)
    scanned = subprocess.run(
        ["ssh-keyscan", "-p", str(again.port(2222)), "127.0.0.1"],
        capture_output=True,
        check=True,
    ).stdout
    shown = subprocess.run(["ssh-keygen", "-lf", "-"], input=scanned, capture_output=True)
    assert fingerprint(again) in shown.stdout.decode()


@pytest.mark.soak
def test_containers_that_start_together_share_one_host_key(
    volume: str, start, public_key: str
) -> None:
    settings = {
        "environment": {"AUTHORIZED_KEYS": public_key, "SERVICES": "ssh"},
        "volumes": {volume: {"bind": "/etc/ssh/host_keys"}},
    }
    together = [start(**settings) for _ in range(4)]
    fingerprints = {fingerprint(workbench.wait_ready()) for workbench in together}
    assert len(fingerprints) == 1
    names = together[0].run("ls", "-A", "/etc/ssh/host_keys", user="root")[1].split()
    assert names == ["ssh_host_ed25519_key", "ssh_host_ed25519_key.pub"]


def test_a_private_host_key_alone_is_enough(start, tmp_path: Path, public_key: str) -> None:
    private = tmp_path / "ssh_host_ed25519_key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(private)], check=True)
    private.with_suffix(".pub").unlink()
    private.chmod(0o644)
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        volumes={str(tmp_path): {"bind": "/etc/ssh/host_keys"}},
    ).wait_ready()
    assert workbench.ssh("true").returncode == 0


@pytest.mark.parametrize("content", ["", "no key at all\n"])
def test_a_host_key_that_is_none(start, tmp_path: Path, public_key: str, content: str) -> None:
    (tmp_path / "ssh_host_ed25519_key").write_text(content)
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        volumes={str(tmp_path): {"bind": "/etc/ssh/host_keys"}},
    )
    assert workbench.ended() == 2
    line = "error: /etc/ssh/host_keys/ssh_host_ed25519_key is no host key; remove it, "
    assert workbench.logs() == f"{line}and the next start makes one\n"


def test_keys_in_the_home_with_another_owner(start, tmp_path: Path, public_key: str) -> None:
    file = tmp_path / "authorized_keys"
    file.write_text(f"{public_key}\n")
    file.chmod(0o666)
    mount = {str(file): {"bind": "/home/user/.ssh/authorized_keys", "mode": "ro"}}
    assert start(volumes=mount).wait_ready().ssh("true").returncode == 0


def test_a_key_in_the_home_can_be_taken_back(start, public_key: str, key: Path) -> None:
    workbench = start(environment={"SERVICES": "ssh", "AUTHORIZED_KEYS": public_key})
    workbench.wait_ready()
    other = key.with_name("other")
    if not other.exists():
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)]
        subprocess.run(make, check=True)
    text = other.with_suffix(".pub").read_text().strip()
    keep = f"umask 077; mkdir -p ~/.ssh; echo '{text}' >~/.ssh/authorized_keys"
    assert workbench.ssh(keep).returncode == 0
    workbench.container.restart()
    workbench.wait_ready()
    guest = Workbench(workbench.container, other)
    assert guest.ssh("true").returncode == 0
    assert workbench.ssh("rm ~/.ssh/authorized_keys").returncode == 0
    assert guest.ssh("true").returncode == 255


@pytest.mark.parametrize("kind", ["mkfifo", "ln -s /dev/zero", "ln -s /etc/shadow", "mkdir"])
def test_the_home_cannot_hold_up_or_sound_out_a_start(volume, start, public_key, kind) -> None:
    mount = {"volumes": {volume: {"bind": "/home/user"}}}
    make = f"mkdir -p ~/.ssh && cd ~/.ssh && {kind} authorized_keys"
    assert start("sh", "-c", make, **mount).ended() == 0
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}, **mount).wait_ready()
    assert "warning: /home/user/.ssh/authorized_keys is not looked at" in workbench.logs()
    assert "root:" not in workbench.logs()
    assert workbench.ssh("true").returncode == 0


def test_a_bad_line_in_the_homes_keys_is_a_warning(start, tmp_path: Path, public_key: str) -> None:
    file = tmp_path / "authorized_keys"
    file.write_text("junk\n")
    workbench = start(
        environment={"AUTHORIZED_KEYS": public_key},
        volumes={str(file): {"bind": "/home/user/.ssh/authorized_keys", "mode": "ro"}},
    ).wait_ready()
    assert "authorized_keys: 1 of its lines are no public keys" in workbench.logs()
    assert workbench.ssh("true").returncode == 0


@pytest.mark.parametrize(
    "options", ['from="0.0.0.0/0",no-pty', 'command="echo \\"hi\\""', "restrict,pty"]
)
def test_options_of_a_key(start, public_key: str, options: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": f"{options} {public_key}"}).wait_ready()
    assert workbench.ssh("echo done").returncode == 0


@pytest.mark.soak
def test_many_logins_at_once(workstation: Workbench) -> None:
    command = [*workstation.ssh_command(), "true"]
    logins = [subprocess.Popen(command, stderr=subprocess.PIPE) for _ in range(40)]
    assert [login.communicate(timeout=120)[1] for login in logins] == [b""] * 40
    assert {login.returncode for login in logins} == {0}


def test_key_file_with_any_owner_and_mode(start, tmp_path: Path, public_key: str) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# mine\n{public_key}\n")
    file.chmod(0o666)
    workbench = start(
        environment={"AUTHORIZED_KEYS_FILE": "/keys"}, volumes={str(file): {"bind": "/keys"}}
    ).wait_ready()
    assert workbench.ssh("true").returncode == 0


# Quotes, command substitution, several lines, control characters. (Bytes that are no
# UTF-8 never come this far: the Docker client itself replaces them.)
VALUES = {
    "QUOTES": b"a b \"c\" 'd' $e \\f",
    "COMMAND": b"$(touch /tmp/hacked) `touch /tmp/hacked`",
    "SEVERAL": b"one\ntwo\n\nfour\n",
    "BYTES": b"\x01\x7f\t\r",
    "EMPTY": b"",
    "UTF": "λ 混合精度".encode(),
    "dotted.name": b"kept",
    "HF_TOKEN": b"given by the user",
    # Names that the script between sshd and the session might take for its own.
    **dict.fromkeys(("pair", "pairs", "odd", "login", "name", "home"), b"x"),
}


@pytest.fixture(scope="module")
def with_values(engine, key: Path, public_key: str):
    """A workstation with odd values, one denied name, and a token of the user's."""
    given = {**VALUES, "AUTHORIZED_KEYS": public_key.encode(), "JUPYTER_TOKEN": b"secret"}
    given |= {"SECRET_ONE": b"1", "SECRET_TWO": b"2", "SSH_ENV_DENY": b"SECRET_*"}
    # Through the client: the SDK sends JSON, which holds no bytes that are no text.
    flags = [flag for name in given for flag in (b"-e", name.encode() + b"=" + given[name])]
    command = [b"docker", b"run", b"-d", b"-p", b"127.0.0.1::2222", *flags, IMAGE.encode()]
    identity = subprocess.run(command, capture_output=True, check=True).stdout.decode().strip()
    workbench = Workbench(engine.containers.get(identity), key)
    yield workbench.wait_ready()
    workbench.container.remove(force=True, v=True)


@pytest.mark.parametrize("shell", ["bash -c", "bash -lc", "sh -lc", "bash -ic"])
def test_a_session_has_the_environment_of_docker_exec(with_values: Workbench, shell: str) -> None:
    # An interactive bash greets first; the environment follows the mark.
    command = [*shell.split(), "echo MARK; env -0"]

    def pairs(output: bytes) -> dict[str, bytes]:
        listed = output.partition(b"MARK\n")[2].split(b"\0")
        return {
            name.decode(): value for name, _, value in (pair.partition(b"=") for pair in listed)
        }

    inside = pairs(with_values.container.exec_run(command, user="user").output)
    over_ssh = pairs(with_values.ssh(f"{shell} 'echo MARK; env -0'").stdout)
    withheld = {"JUPYTER_TOKEN", "AUTHORIZED_KEYS", "SECRET_ONE", "SECRET_TWO"}
    assert withheld <= set(inside)
    assert not withheld & set(over_ssh)
    shared = set(inside) - withheld - {"PWD", "SHLVL", "_"}
    assert {n: over_ssh.get(n) for n in shared} == {n: inside[n] for n in shared}
    carried = {name: value for name, value in VALUES.items() if name in inside}
    assert {name: over_ssh[name] for name in carried} == carried
    assert set(VALUES) - set(carried) <= {"dotted.name"}  # dash drops it, with or without SSH
    assert over_ssh["SHELL"] == b"/bin/bash"
    assert with_values.run("test", "-e", "/tmp/hacked")[0] == 1


@pytest.mark.parametrize("name", ["UID", "EUID", "SHELLOPTS", "POSIXLY_CORRECT", "IFS", "BASHOPTS"])
def test_a_variable_of_bash_does_not_shut_anyone_out(start, public_key: str, name: str) -> None:
    given = {"AUTHORIZED_KEYS": public_key, name: "1000", "POSIXLY_CORRECT": "1"}
    workbench = start(environment=given).wait_ready()
    result = workbench.ssh("python -c 'print(1)'")
    inside = workbench.container.exec_run(["bash", "-c", "python -c 'print(1)'"], user="user")
    assert (result.returncode, result.stdout + result.stderr) == (0, inside.output)


def test_an_interactive_login_has_the_images_path(workstation: Workbench) -> None:
    inside = workstation.run("printenv", "PATH")[1].strip()
    typed = b"shopt -q login_shell && echo login-$((1 + 1)); echo path=$PATH; exit\n"
    result = subprocess.run(
        workstation.ssh_command("-tt"), input=typed, capture_output=True, timeout=60, check=False
    )
    seen = result.stdout.decode().replace("\r", "").splitlines()
    assert any(line.endswith("login-2") for line in seen), seen
    assert any(line.endswith(f"path={inside}") for line in seen), seen


@pytest.mark.parametrize(
    "background",
    [
        "tmux new-session -d 'sleep 1000; exec sleep 1001'",
        "nohup sleep 1000 >/dev/null 2>&1 &",
    ],
)
def test_work_outlives_the_logout(start, public_key: str, background: str) -> None:
    workbench = start(environment={"AUTHORIZED_KEYS": public_key}).wait_ready()
    assert workbench.ssh(background).returncode == 0
    wait_until(
        lambda: workbench.run("pgrep", "-x", "sshd", user="root")[1].count("\n") == 1, 10, "logout"
    )
    assert workbench.run("pgrep", "-x", "sleep")[0] == 0


def test_files_go_both_ways(workstation: Workbench, tmp_path: Path) -> None:
    (tmp_path / "there").write_bytes(bytes(range(256)))
    options = [*workstation.ssh_command()[3:-1]]
    port = str(workstation.port(2222))
    remote = "user@127.0.0.1:/workspace/there"
    for legacy in ([], ["-O"]):  # scp over SFTP, and in the old way
        scp = ["scp", "-q", *legacy, "-P", port, *options]
        subprocess.run([*scp, str(tmp_path / "there"), remote], check=True)
        subprocess.run([*scp, remote, str(tmp_path / "back")], check=True)
        assert (tmp_path / "back").read_bytes() == bytes(range(256))
    workstation.run("rm", "/workspace/there")
