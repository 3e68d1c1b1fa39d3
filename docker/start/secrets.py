"""Reading the files that settings name."""

import pathlib
from typing import Mapping

from workbench.errors import Mistake

LARGEST_FILE = 1 << 20


def text_of_file(env: Mapping[str, str], name: str) -> str:
    """Return what stands in the file that the variable ``name`` names.

    Raises Mistake, which names the variable and the path, when it cannot be read
    as text, is larger than a megabyte, or is empty.
    """
    path = pathlib.Path(env[name])
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise Mistake(
                f"{name}={path} is larger than {LARGEST_FILE} bytes; is it the right file?"
            )
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise Mistake(f"{name}={path} is no text file") from None
    except OSError as error:
        raise Mistake(
            f"{name}={path} cannot be read in the container ({error.strerror}); "
            "mount it, for example -v FILE:/run/secrets/NAME:ro"
        ) from None
    if not text.strip():
        raise Mistake(f"{name}={path} is empty")
    return text
