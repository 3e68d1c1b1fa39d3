"""Functions of the user, named as ``module:function`` or ``path.py:function``."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

from workbench.errors import Mistake
from workbench.flags import nearest

OUR_PACKAGE = str(Path(__file__).resolve().parent)
# Frames in these are not the user's own code.
LIBRARIES = (*{sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}, "<frozen")


def load_function(flag: str, text: str) -> Callable[..., Any]:
    """Return the function that --``flag``=``text`` names.

    As for a script, the folder of the file can be imported from, and the working directory.
    Raises ``Mistake`` when the file, the module or the function is not there, when importing
    it fails, and when it is not a function.
    """
    where = f"--{flag}={text}"
    source, _, name = text.rpartition(":")
    if not (source and re.fullmatch(r"[^\W\d]\w*", name)):
        raise Mistake(f"{where}: give module:function or path.py:function")
    try:
        _make_importable(os.getcwd())
    except FileNotFoundError:
        raise Mistake(f"{where}: the working directory is gone: change to another") from None
    is_file = source.endswith(".py")
    if is_file and not os.path.isfile(source):
        raise Mistake(f"{where}: the file {source} is not there: check its name")
    try:
        module = _module_of_file(os.path.realpath(source)) if is_file else _module(where, source)
    except Mistake:
        raise
    except SyntaxError as error:
        raise Mistake(
            f"{where}: {error.filename}:{error.lineno}: {type(error).__name__}: {error.msg}"
        ) from error
    # sys.exit() in a script without its `if __name__ == "__main__"` is one of the ways to fail.
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise Mistake(f"{where}: importing {source} failed: {describe(error)}") from error
    function = getattr(module, name, None)
    if function is None:
        raise Mistake(f"{where}: {source} has no function {name}{nearest(name, vars(module))}")
    if not callable(function):
        raise Mistake(f"{where}: {name} is of type {type(function).__name__}: give a function")
    return function


def call(where: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call the user's ``function``; an exception in it becomes a ``Mistake`` after ``where``."""
    try:
        return function(*arguments, **named)
    except Mistake:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        raise Mistake(f"{where}: it failed: {describe(error)}") from error


def describe(error: BaseException) -> str:
    """Return type, text and the last line of the user's own code in which ``error`` arose."""
    text = str(error)
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if text.startswith(("in user code:", "Exception encountered when calling")):
        # So TensorFlow and Keras wrap the message of an exception that passes through them. What
        # they make of a function has frames in a file that nobody can look into afterwards; those
        # of the user's own are in the text.
        frames += re.findall(r'File "(.+?)", line (\d+), in', text)
        text = text.partition("Call arguments received")[0]
        text = [line for line in text.splitlines() if line.strip()][-1].strip()
        text = text.partition(f"{type(error).__name__}: ")[2] or text
    words = f"{type(error).__name__}: {text}" if text else type(error).__name__
    for file, number in reversed(frames):
        if not file.startswith((OUR_PACKAGE, *LIBRARIES)) and "__autograph_generated" not in file:
            return f"{words} ({file}:{number})"
    return words


def _make_importable(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _module(where: str, name: str) -> ModuleType:
    if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", name):
        raise Mistake(f"{where}: {name} is not the name of a module or of a .py file")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # Another one may be missing, which the user's module imports.
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise Mistake(
                f"{where}: there is no module {name} in {os.getcwd()} or Python's own path"
            ) from error
        raise


@functools.lru_cache(maxsize=None)
def _module_of_file(file: str) -> ModuleType:
    """Import ``file``, once: --data and --model may name the same one."""
    _make_importable(os.path.dirname(file))
    name = Path(file).stem
    # A module of that name that is loaded already must stay what it is.
    name = f"user_code_{name}" if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
