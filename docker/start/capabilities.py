"""Root's powers that a start needs, and `--cap-drop` may have taken."""

import os
import pathlib

from workbench.errors import Mistake

# Name and bit, from linux/capability.h.
TO_BECOME_THE_USER = {"CHOWN": 0, "KILL": 5, "SETGID": 6, "SETUID": 7}
FOR_SSH = {"SYS_CHROOT": 18, "AUDIT_WRITE": 29}


def check(with_ssh: bool) -> None:
    """Raise Mistake, naming what is missing, when root cannot do what a start needs."""
    if os.geteuid() != 0:
        return
    needed = {**TO_BECOME_THE_USER, **(FOR_SSH if with_ssh else {})}
    status = pathlib.Path("/proc/self/status").read_text("utf-8")
    effective = int(status.split("CapEff:")[1].split()[0], 16)
    missing = [name for name, bit in needed.items() if not effective >> bit & 1]
    if missing:
        options = " ".join(f"--cap-add={name}" for name in missing)
        raise Mistake(f"this container was started without {', '.join(missing)}; add {options}")
