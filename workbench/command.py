"""How a command of the image begins: its flags are read, Fire calls it, its status comes back."""

from __future__ import annotations

import sys
from typing import Any, Callable

import fire

from workbench import flags
from workbench.terminal import make_output_safe


def run(
    command: Callable[..., int],
    settings: type,
    heading: str,
    ending: str,
    check_together: Callable[[dict[str, Any]], None],
) -> int:
    """Call ``command`` with the flags of the command line; return the exit status.

    ``settings`` declares the flags, ``check_together`` raises ``Mistake`` where those given
    exclude each other. ``--help`` prints the page between ``heading`` and ``ending`` instead.
    """
    arguments = sys.argv[1:]
    make_output_safe()
    if flags.wants_help(arguments):
        print(flags.help_page(settings, heading, ending))
        status = 0
    else:
        given = flags.parse(arguments, settings)
        check_together(given)
        # Fire would print what the function returns, the exit status.
        as_command = flags.as_command(given)
        status = fire.Fire(command, command=as_command, serialize=lambda status: None)
    sys.stdout.flush()
    return status
