"""Whether each service answers as a client would see it, not whether it runs."""

import http.client
import socket
import ssl
from typing import Callable, Dict, List

from start import jupyter, ssh, state

TIMEOUT_S = 3.0
TENSORBOARD_PORT = 6006


def faults() -> List[str]:
    """Return a line for each service that does not answer; empty means healthy.

    A workstation makes the state folder first of all. A container without it runs a command
    instead of services, and ends with it: it is healthy as long as it runs.
    """
    if not state.folder().is_dir():
        return []
    try:
        names = (state.folder() / "services").read_text("utf-8").split()
    except FileNotFoundError:
        return ["the services are not started yet"]
    found = []
    for name in names:
        try:
            PROBES[name]()
        except (OSError, http.client.HTTPException, ValueError) as error:
            found.append(f"{name} does not answer ({error or type(error).__name__})")
    return found


def _ssh() -> None:
    with socket.create_connection(("127.0.0.1", ssh.PORT), TIMEOUT_S) as connection:
        greeting = connection.recv(4)
    if greeting != b"SSH-":
        raise ValueError(f"greeting {greeting!r}")


def _jupyter() -> None:
    settings = jupyter.read()
    if settings["certfile"]:
        # It is our own server: whether the world trusts its certificate is not asked.
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            "127.0.0.1", jupyter.PORT, timeout=TIMEOUT_S, context=ssl._create_unverified_context()
        )
    else:
        connection = http.client.HTTPConnection("127.0.0.1", jupyter.PORT, timeout=TIMEOUT_S)
    _get(connection, f"{settings['base_url']}api")


def _tensorboard() -> None:
    _get(http.client.HTTPConnection("127.0.0.1", TENSORBOARD_PORT, timeout=TIMEOUT_S), "/")


def _get(connection: http.client.HTTPConnection, path: str) -> None:
    connection.request("GET", path)
    status = connection.getresponse().status
    connection.close()
    if status != http.client.OK:
        raise ValueError(f"status {status}")


PROBES: Dict[str, Callable[[], None]] = {
    "jupyter": _jupyter,
    "ssh": _ssh,
    "tensorboard": _tensorboard,
}
