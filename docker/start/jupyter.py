"""Jupyter's token or password, address and certificate, from the environment."""

import json
import re
import secrets
from typing import Any, Dict, Mapping, Tuple

from start import setting_files, state
from start.account import Account
from workbench.errors import Mistake

PORT = 8888
TOKEN_BYTES = 24  # as many as Jupyter itself takes
LONGEST_TOKEN = 512
SETTINGS = "jupyter.json"
# What jupyter_server.auth.passwd() makes, and its older form.
ARGON2 = r"argon2:\$argon2(id|i|d)\$v=\d+\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+"
SALTED = r"sha\d+:[0-9a-f]+:[0-9a-f]+"


def settings(env: Mapping[str, str]) -> Dict[str, Any]:
    """Return Jupyter's settings; ``token_made`` tells a fresh token from a given one.

    Raises Mistake for a token given both ways, an unreadable file, a hash that is
    none, a base URL that is no path, and a certificate that cannot be used.
    """
    password_hash = _password_hash(env)
    token, made = _token(env, password_hash)
    certificate, key = _certificate(env)
    return {
        "token": token,
        "token_made": made,
        "password_hash": password_hash,
        "base_url": _base_url(env),
        "certificate": certificate,
        "key": key,
    }


def write(found: Dict[str, Any], account: Account) -> None:
    """Keep the settings where only Jupyter's user can read them."""
    kept = dict(found, certfile="", keyfile="")
    # Copies: a private key is readable to root alone, as a rule.
    for name, file in (("certificate", "certfile"), ("key", "keyfile")):
        content = kept.pop(name)
        if content:
            kept[file] = str(state.write(f"jupyter.{name}", content, account))
    state.write(SETTINGS, json.dumps(kept).encode(), account)


def read() -> Dict[str, Any]:
    """Return the settings that this container's Jupyter was started with."""
    return json.loads((state.folder() / SETTINGS).read_text("utf-8"))


def url() -> str:
    """Return Lab's address; with the token only if it was made here, not given."""
    found = read()
    scheme = "https" if found["certfile"] else "http"
    address = f"{scheme}://127.0.0.1:{PORT}{found['base_url']}lab"
    return f"{address}?token={found['token']}" if found["token_made"] else address


def how_to_log_in(found: Dict[str, Any]) -> str:
    """Return what to add to the address where the token is not in it."""
    return "" if found["token_made"] else " (with the token or password you gave)"


def _token(env: Mapping[str, str], password_hash: str) -> Tuple[str, bool]:
    # An empty token would switch Jupyter's authentication off: it counts as none.
    given, file = env.get("JUPYTER_TOKEN", ""), env.get("JUPYTER_TOKEN_FILE", "")
    if given and file:
        raise Mistake(f"JUPYTER_TOKEN and JUPYTER_TOKEN_FILE={file} are both set; give one of them")
    name = "JUPYTER_TOKEN_FILE" if file else "JUPYTER_TOKEN"
    if file:
        given = setting_files.text(env, name).strip()
    # It has to fit into an HTTP header.
    if len(given) > LONGEST_TOKEN:
        raise Mistake(f"{name} holds {len(given)} characters; give at most {LONGEST_TOKEN}")
    if given and not re.fullmatch(r"[!-~]+", given):
        raise Mistake(f"{name} holds a space or a letter that is not ASCII; give one plain word")
    if given or password_hash:
        return given, False
    return secrets.token_hex(TOKEN_BYTES), True


def _password_hash(env: Mapping[str, str]) -> str:
    if not env.get("JUPYTER_PASSWORD_HASH_FILE"):
        return ""
    found = setting_files.text(env, "JUPYTER_PASSWORD_HASH_FILE").strip()
    if not re.fullmatch(rf"{ARGON2}|{SALTED}", found):
        raise Mistake(
            f"JUPYTER_PASSWORD_HASH_FILE={env['JUPYTER_PASSWORD_HASH_FILE']} holds no hash of "
            "Jupyter's; make one with: python -c 'from jupyter_server.auth import passwd; "
            "print(passwd())'"
        )
    return found


def _base_url(env: Mapping[str, str]) -> str:
    text = env.get("JUPYTER_BASE_URL", "") or "/"
    if not re.fullmatch(r"/([A-Za-z0-9_~-][A-Za-z0-9._~-]*/?)*", text):
        raise Mistake(f"JUPYTER_BASE_URL={text!r} is no path such as /lab-of-ann/")
    return text if text.endswith("/") else f"{text}/"


def _certificate(env: Mapping[str, str]) -> Tuple[bytes, bytes]:
    """Return the content of certificate and key; both empty where none is set."""
    certfile, keyfile = env.get("JUPYTER_CERTFILE", ""), env.get("JUPYTER_KEYFILE", "")
    if keyfile and not certfile:
        raise Mistake(f"JUPYTER_KEYFILE={keyfile} is set without JUPYTER_CERTFILE; give both")
    if not certfile:
        return b"", b""
    certificate = setting_files.content(env, "JUPYTER_CERTFILE")
    key = setting_files.content(env, "JUPYTER_KEYFILE") if keyfile else b""
    import ssl  # only here: it takes as long to load as all the rest

    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certfile, keyfile or None, password=lambda: b"")
    except (OSError, ValueError) as error:
        both = f"JUPYTER_CERTFILE={certfile}" + (f", JUPYTER_KEYFILE={keyfile}" if keyfile else "")
        raise Mistake(
            f"{both}: no certificate and unencrypted key that fit each other, in PEM ({error})"
        ) from None
    return certificate, key
