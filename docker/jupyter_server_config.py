"""Jupyter's settings: what docker/start/jupyter.py wrote, read from one file.

The file is readable by the user alone, so no secret stands in the process list
or in the environment of a kernel or terminal.
"""

import json
import logging
import os
import pathlib
import re

start = json.loads(pathlib.Path(os.environ["WORKBENCH_RUN"], "jupyter.json").read_text("utf-8"))


class MaskToken(logging.Filter):
    """Take the token out of every line: an address with it may stand in an error's."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Change the record in place; keep it."""
        record.msg, record.args = mask(record.getMessage()), ()
        if record.exc_info:
            # Formatters take the text of a traceback from here where it is set.
            record.exc_text = mask(logging.Formatter().formatException(record.exc_info))
        return True


def mask(text: str) -> str:
    """Return ``text`` without the token, as itself or in an address."""
    text = re.sub(r"(token=)[^&\s\"']+", r"\1[secret]", text)
    return text.replace(start["token"], "[secret]") if start["token"] else text


c = get_config()  # noqa: F821 (Jupyter defines it while it reads this file)
c.ServerApp.ip = "0.0.0.0"
c.ServerApp.port = 8888
c.ServerApp.port_retries = 0  # another port would not be published: fail instead
c.ServerApp.open_browser = False
c.ServerApp.root_dir = "/workspace"
c.ServerApp.base_url = start["base_url"]
c.ServerApp.certfile = start["certfile"]
c.ServerApp.keyfile = start["keyfile"]
c.ServerApp.terminado_settings = {"shell_command": ["/bin/bash"]}
c.ServerApp.log_level = "WARN"  # the address stands in the log once, from the start-up
c.IdentityProvider.token = start["token"]
c.PasswordIdentityProvider.hashed_password = start["password_hash"]
c.ServerApp.logging_config = {
    "filters": {"mask": {"()": MaskToken}},
    "handlers": {"console": {"filters": ["mask"]}},
}
# A password set in the browser would outlive the token that let it in.
c.PasswordIdentityProvider.allow_password_change = False
# Nothing is fetched unless someone asks: no catalogue of extensions.
c.LabApp.extension_manager = "readonly"
# Five seconds by default, for each kernel: docker stop would not be done in two.
c.KernelManager.shutdown_wait_time = 0.5
