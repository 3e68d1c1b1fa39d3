"""What a start does, in order: first read every setting, then make the first change."""

import os
import subprocess
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional

from start import account, capabilities, environment, jupyter, keys, services, ssh, state
from workbench.errors import Mistake
from workbench.log import info

SERVICE_FAILED = 70


class Settings(NamedTuple):
    """Every setting, read and found to be right."""

    uid: Optional[int]
    gid: Optional[int]
    services: List[str]  # those that will run
    authorized_keys: List[str]  # those to write down
    jupyter: Dict[str, Any]
    ssh_off: str  # why sshd stays off though it is asked for; else empty


def user() -> None:
    """Prepare for a command: the user, and a folder to write to."""
    account.apply(*_wanted_ids())
    account.adopt_folders(account.current())


def workstation() -> List[str]:
    """Prepare for the services; return the names of those to run."""
    # The folder is the health check's sign that services are to come.
    state.make()
    settings = read_settings()
    account.apply(settings.uid, settings.gid)
    me = account.current()
    account.adopt_folders(me)
    account.warn_of_folders(me)
    environment.write(os.environb, me)
    if settings.ssh_off:
        info(f"SSH: off, {settings.ssh_off}")
    elif "ssh" in settings.services:
        ssh.prepare(settings.authorized_keys)
    if "jupyter" in settings.services:
        jupyter.write(settings.jupyter, me)
        info(f"Jupyter: {jupyter.url()}{jupyter.how_to_log_in(settings.jupyter)}")
    state.write("services", "".join(f"{name}\n" for name in settings.services).encode())
    return settings.services


def read_settings() -> Settings:
    """Read the environment. Raises Mistake; changes nothing."""
    uid, gid = _wanted_ids()
    names = services.wanted(os.environ)
    ssh_off, authorized = "", keys.collect(os.environ)
    if "ssh" in names:
        home = keys.of_home(account.current())
        ssh_off = _reason_for_no_ssh(bool(authorized) or home.any)
        authorized += home.to_copy
    running = [name for name in names if name != "ssh" or not ssh_off]
    if not running:
        raise Mistake(f"no service is left to run: ssh is off, {ssh_off}")
    capabilities.check("ssh" in running)
    return Settings(uid, gid, running, authorized, jupyter.settings(os.environ), ssh_off)


def report_fault(main: Callable[[], int]) -> int:
    """Run ``main``; turn what is not a user's mistake into one line and a status."""
    try:
        return main()
    except ssh.NotStartable as refusal:
        print(f"error: service ssh cannot start: {refusal}", file=sys.stderr)
        return SERVICE_FAILED
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"error: this container cannot be prepared: {error}", file=sys.stderr)
        return 1


def _wanted_ids() -> "tuple[Optional[int], Optional[int]]":
    return account.wanted_id(os.environ, "PUID"), account.wanted_id(os.environ, "PGID")


def _reason_for_no_ssh(any_key: bool) -> str:
    if os.geteuid() != 0:
        return "because it needs a start as root; leave out --user"
    if not any_key:
        return (
            "because no key was given; add "
            '-e AUTHORIZED_KEYS="$(cat ~/.ssh/id_ed25519.pub)" to docker run'
        )
    return ""
