"""Which services this container runs."""

from typing import List, Mapping

from workbench.errors import Mistake

KNOWN = ("jupyter", "ssh", "tensorboard")
DEFAULT = "jupyter,ssh"


def wanted(env: Mapping[str, str]) -> List[str]:
    """Return the services named by SERVICES, each once, in the order given."""
    text = env.get("SERVICES", "") or DEFAULT
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in KNOWN:
            raise Mistake(f"SERVICES={text!r} names {name!r}; known are {', '.join(KNOWN)}")
    if not names:
        raise Mistake(f"SERVICES={text!r} names no service; known are {', '.join(KNOWN)}")
    return names
