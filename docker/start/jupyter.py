"""Jupyter's token or password, address and certificate, from the environment."""

import json
import os
import re
import secrets as random_secrets
from typing import Any, Dict, Mapping, Tuple

from start import secrets, state
from start.account import Account
from workbench.errors import Mistake

PORT = 8888
TOKEN_BYTES = 24  # as many as Jupyter itself takes
SETTINGS = "jupyter.json"


def settings(env: Mapping[str, str]) -> Dict[str, Any]:
    """Return Jupyter's settings; ``token_made`` tells a fresh token from a given one.

    Raises Mistake for a token given both ways, an unreadable file, a hash that is
    none, a base URL that is no path, and half a certificate.
    """
    password_hash = _password_hash(env)
    token, made = _token(env, password_hash)
    return {
        "token": token,
        "token_made": made,
        "password_hash": password_hash,
        "base_url": _base_url(env),
        "certfile": _certificate(env, "JUPYTER_CERTFILE"),
        "keyfile": _certificate(env, "JUPYTER_KEYFILE"),
    }


def write(found: Dict[str, Any], account: Account) -> None:
    """Keep the settings where only Jupyter's user can read them."""
    state.write(SETTINGS, json.dumps(found).encode(), account)


def read() -> Dict[str, Any]:
    """Return the settings that this container's Jupyter was started with."""
    return json.loads((state.folder() / SETTINGS).read_text("utf-8"))


def url(found: Dict[str, Any]) -> str:
    """Return Lab's address; with the token only if it was made here, not given."""
    scheme = "https" if found["certfile"] else "http"
    address = f"{scheme}://127.0.0.1:{PORT}{found['base_url']}lab"
    return f"{address}?token={found['token']}" if found["token_made"] else address


def _token(env: Mapping[str, str], password_hash: str) -> Tuple[str, bool]:
    # An empty token would switch Jupyter's authentication off: it counts as none.
    given, file = env.get("JUPYTER_TOKEN", ""), env.get("JUPYTER_TOKEN_FILE", "")
    if given and file:
        raise Mistake(f"JUPYTER_TOKEN and JUPYTER_TOKEN_FILE={file} are both set; give one of them")
    if file:
        given = secrets.text_of_file(env, "JUPYTER_TOKEN_FILE").strip()
    if given and re.search(r"\s", given):
        name = "JUPYTER_TOKEN_FILE" if file else "JUPYTER_TOKEN"
        raise Mistake(f"{name} holds a token with white space in it; give one word")
    if given or password_hash:
        return given, False
    return random_secrets.token_hex(TOKEN_BYTES), True


def _password_hash(env: Mapping[str, str]) -> str:
    if not env.get("JUPYTER_PASSWORD_HASH_FILE"):
        return ""
    found = secrets.text_of_file(env, "JUPYTER_PASSWORD_HASH_FILE").strip()
    # The two forms that jupyter_server.auth.passwd_check knows.
    if not re.fullmatch(r"(argon2:\$argon2\S+|sha\d+:[0-9a-f]+:[0-9a-f]+)", found):
        raise Mistake(
            f"JUPYTER_PASSWORD_HASH_FILE={env['JUPYTER_PASSWORD_HASH_FILE']} holds no hash of "
            "Jupyter's; make one with: python -c 'from jupyter_server.auth import passwd; "
            "print(passwd())'"
        )
    return found


def _base_url(env: Mapping[str, str]) -> str:
    text = env.get("JUPYTER_BASE_URL", "") or "/"
    if not re.fullmatch(r"/([A-Za-z0-9._~%-]+/?)*", text):
        raise Mistake(f"JUPYTER_BASE_URL={text!r} is no path such as /lab-of-ann/")
    return text if text.endswith("/") else f"{text}/"


def _certificate(env: Mapping[str, str], name: str) -> str:
    path = env.get(name, "")
    if not path:
        return ""
    if name == "JUPYTER_KEYFILE" and not env.get("JUPYTER_CERTFILE"):
        raise Mistake(f"JUPYTER_KEYFILE={path} is set without JUPYTER_CERTFILE; give both")
    if not os.path.isfile(path):
        raise Mistake(f"{name}={path} does not exist in the container; mount it")
    return path
