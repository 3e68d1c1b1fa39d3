"""Flags declared as the fields of a dataclass: strict reading and the help page.

Python Fire guesses the type of a value and runs the function before it complains about a
flag it does not know. So the command line is read here first, strictly, and Fire is given
only what passed (:func:`as_command`). Nothing here imports more than the standard library:
``--help`` and a mistake answer at once.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import textwrap
from typing import Any, Callable, Iterable, Sequence

from workbench.errors import Mistake

PAGE_WIDTH = 88


@dataclasses.dataclass(frozen=True)
class Kind:
    """What a flag takes: ``placeholder`` in the help page, ``expects`` in words, ``read``.

    ``read`` turns the text of the command line into the value; it raises ``ValueError``
    for a text that is not of this kind. ``write`` turns a value into such a text. A flag without
    a value means ``alone``, where that is not None.
    """

    placeholder: str
    expects: str
    read: Callable[[str], Any]
    alone: Any = None
    write: Callable[[Any], str] = str


@dataclasses.dataclass(frozen=True)
class Flag:
    """A declared flag: its name, kind, default, and its place and words in the help page."""

    name: str
    kind: Kind
    default: Any
    group: str
    help: str
    shown_default: str


def flag(kind: Kind, default: Any, *, group: str, help: str, shown_default: str = "") -> Any:
    """Declare a dataclass field as a flag.

    ``shown_default`` is the default in the help page where the value itself says nothing.
    """
    words = {"kind": kind, "group": group, "help": help}
    return dataclasses.field(
        default=default, metadata={**words, "shown_default": shown_default or str(default)}
    )


def like(settings: type, name: str, **changes: Any) -> Any:
    """Declare a dataclass field as the flag ``name`` of another command, with ``changes``.

    ``changes`` are arguments of :func:`flag`: a default, a group or words of its own.
    """
    (field,) = (each for each in dataclasses.fields(settings) if each.name == name)
    words = {"default": field.default, **field.metadata, **changes}
    if "default" in changes and "shown_default" not in changes:
        words["shown_default"] = str(changes["default"])
    return flag(words.pop("kind"), words.pop("default"), **words)


def declared(settings: type) -> dict[str, Flag]:
    """Return the flags of the dataclass ``settings`` by name, in the order of its fields."""
    return {
        field.name: Flag(name=field.name, default=field.default, **field.metadata)
        for field in dataclasses.fields(settings)
    }


def whole(minimum: int, maximum: int) -> Kind:
    """Return the kind of whole numbers from ``minimum`` to ``maximum``, written in digits."""

    def read(text: str) -> int:
        # int() alone would also take "1_000", " 5" and digits of other scripts.
        if not re.fullmatch(r"[+-]?[0-9]{1,30}", text):
            raise ValueError(text)
        number = int(text)
        if not minimum <= number <= maximum:
            raise ValueError(text)
        return number

    return Kind("N", f"a whole number from {minimum} to {maximum}", read)


def real(minimum: float, maximum: float) -> Kind:
    """Return the kind of finite decimal numbers from ``minimum`` to ``maximum``."""

    def read(text: str) -> float:
        if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
            raise ValueError(text)
        number = float(text)
        if not (math.isfinite(number) and minimum <= number <= maximum):
            raise ValueError(text)
        return number

    return Kind("X", f"a number from {minimum:g} to {maximum:g}", read)


def choice(*names: str) -> Kind:
    """Return the kind of the words ``names``."""

    def read(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return Kind("|".join(names), f"one of: {', '.join(names)}", read)


def switch() -> Kind:
    """Return the kind of flags that are off, or on by their name alone."""

    def read(text: str) -> bool:
        # as_command() writes True and False.
        return {"true": True, "false": False}[choice("true", "false").read(text.lower())]

    return Kind("", "true or false, or no value for true", read, alone=True)


def word_or(word: str, kind: Kind) -> Kind:
    """Return the kind that takes ``word`` as it is, and else what ``kind`` takes."""

    def read(text: str) -> Any:
        return word if text == word else kind.read(text)

    def write(value: Any) -> str:
        return word if value == word else kind.write(value)

    placeholder = f"{word}|{kind.placeholder}"
    return Kind(placeholder, f"{word!r} or {kind.expects}", read, write=write)


def several(kind: Kind, expects: str) -> Kind:
    """Return the kind of values of ``kind`` separated by commas, as a tuple."""

    def read(values: str) -> tuple[Any, ...]:
        return tuple(kind.read(value) for value in values.split(","))

    def write(values: tuple[Any, ...]) -> str:
        return ",".join(map(kind.write, values))

    letter = kind.placeholder
    return Kind(f"{letter},{letter},...", expects, read, write=write)


def text(placeholder: str, expects: str) -> Kind:
    """Return the kind of any text but the empty one, in valid UTF-8: names of files and such."""

    def read(text: str) -> str:
        if not text.strip():
            raise ValueError(text)
        text.encode()  # UnicodeEncodeError is a ValueError.
        return text

    return Kind(placeholder, expects, read)


def wants_help(arguments: Sequence[str]) -> bool:
    """Tell whether the command line asks for the help page."""
    return list(arguments) == ["help"] or "--help" in arguments or "-h" in arguments


def parse(arguments: Sequence[str], settings: type) -> dict[str, Any]:
    """Read ``--name=value`` and ``--name value``; return the values that were given.

    A dash in a name means an underscore, as in Fire. Raises ``Mistake`` for an unknown
    flag, an argument without a flag, a flag given twice, a flag without a value, and a
    value of another kind.
    """
    flags = declared(settings)
    given: dict[str, Any] = {}
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if not re.match(r"--?[A-Za-z]", argument):
            raise Mistake(f"unexpected argument {argument!r}: write flags as --name=value{_also()}")
        written, equals, text = argument.partition("=")
        name = written.lstrip("-").replace("-", "_")
        if name not in flags or not written.startswith("--"):
            raise Mistake(f"unknown flag {written}{nearest(name, flags, '--')}{_also()}")
        if name in given:
            raise Mistake(f"--{name} is given twice: give it once")
        kind = flags[name].kind
        if not equals and kind.alone is not None:
            given[name] = kind.alone
            continue
        if not equals:
            if not rest or re.match(r"--|-[A-Za-z]", rest[0]):
                raise Mistake(f"--{name} has no value: give {kind.expects}")
            text = rest.pop(0)
        try:
            given[name] = kind.read(text)
        except ValueError:
            raise Mistake(f"--{name}={text[:200]}: give {kind.expects}") from None
    return given


def as_command(given: dict[str, Any]) -> list[str]:
    """Return ``given`` as a command line from which Fire reads exactly these values."""
    return [f"--{name}={value!r}" for name, value in given.items()]


def as_arguments(given: dict[str, Any], settings: type) -> list[str]:
    """Return ``given`` as the command line of the command that ``settings`` declares."""
    flags = declared(settings)
    return [f"--{name}={flags[name].kind.write(value)}" for name, value in given.items()]


def help_page(settings: type, heading: str, ending: str) -> str:
    """Return the manual page: ``heading``, the flags by group, ``ending``."""
    lines = [heading.rstrip(), "", "FLAGS"]
    group = ""
    for declaration in declared(settings).values():
        if declaration.group != group:
            group = declaration.group
            lines += ["", f"  {group}"]
        equals = "=" if declaration.kind.placeholder else ""
        lines.append(f"    --{declaration.name}{equals}{declaration.kind.placeholder}")
        text = f"{declaration.help} Default: {declaration.shown_default}."
        lines += textwrap.wrap(text, PAGE_WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return "\n".join([*lines, "", ending.rstrip()])


def nearest(name: str, names: Iterable[str], before: str = "") -> str:
    """Return a question for the name that ``name`` may have been meant for, or nothing."""
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f" (did you mean {before}{near[0]}?)" if near else ""


def _also() -> str:
    return " (--help lists all flags)"
