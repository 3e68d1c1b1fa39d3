"""How a command of the image begins: its flags are read, Fire calls it, its status comes back."""

from __future__ import annotations

import signal
import sys
from typing import Any, Callable

import fire

from workbench import flags
from workbench.terminal import make_output_safe
from workbench.verdicts import Failure

# Of a command that was understood, and came to a bad end.
FAILURE_STATUS = 1


def end_quietly_on_interrupt() -> None:
    """Have Ctrl-C end the program without a traceback, as long as there is nothing to keep."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(
    command: Callable[..., int],
    settings: type,
    heading: str,
    ending: str,
    check_together: Callable[[dict[str, Any]], None],
) -> int:
    """Call ``command`` with the flags of the command line; return the exit status.

    A ``Failure`` in it is told, and its status is 1; a ``Mistake`` passes through.

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
        try:
            status = fire.Fire(command, command=as_command, serialize=lambda status: None)
        except Failure as failure:
            tell_failure(str(failure))
            status = FAILURE_STATUS
    sys.stdout.flush()
    return status


def tell_failure(text: str) -> None:
    """Print why a command failed on standard error."""
    print(f"failed: {text}", file=sys.stderr)
