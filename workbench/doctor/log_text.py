"""The text of a log, whatever it came from: decoded, without colours and bars, repeats left out."""

from __future__ import annotations

import codecs
import collections
import io
import re
import sys
from typing import BinaryIO, Iterator, NamedTuple

from workbench.errors import Mistake

# What is searched of a log: its beginning, where a fault's root mostly is, and its end.
HEAD_LETTERS = TAIL_LETTERS = 4_000_000
# A line without an end, as binary files have, is taken in pieces of this length.
PIECE_LETTERS = 65_536
# Lines that differ in digits and bars only are one; this many are remembered.
SHAPES_KEPT = 200_000

ENCODINGS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Colours as a terminal has them, and as a notebook's file has them.
COLOURS = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\\u001b\[[0-9;]*m"
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufeff]+")
# Docker's log file has each line in JSON; compose and `docker logs -t` put a name or a time first;
# in a thread a log may be quoted.
JSON_LINE = re.compile(r'^\{"log":"(?P<line>.*?)(?:\\r)?(?:\\n)?","')
PREFIX = re.compile(
    r"^(?:>+ |[\w.-]+ +\| )?(?:\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]*(?:Z|[+-]\d\d:\d\d) )?"
)
# Errors that pass through several programs gather backslashes before their quotes.
ESCAPED_QUOTE = re.compile(r'\\+"')
NOT_SHAPE = {ord(letter): None for letter in "0123456789=>.#- \t█▉▊▋▌▍▎▏━╸"}


class LogText(NamedTuple):
    """What is searched of a log: ``lines`` with their numbers (from 1), in their order.

    ``line_count`` is that of the whole log; ``left_out`` counts the lines in its middle that
    were too many to be searched.
    """

    lines: list[tuple[int, str]]
    line_count: int
    left_out: int


def read(source: str) -> LogText:
    """Read the log in the file ``source``, or standard input where it is ``-``.

    Raises ``Mistake`` where it cannot be read or holds no text.
    """
    if source == "-":
        if sys.stdin is None:
            raise Mistake("--log=-: standard input is closed: pipe the log in, or name its file")
        if sys.stdin.isatty():
            print("paste the log, then press Ctrl-D on a line of its own", file=sys.stderr)
        text = _searched(sys.stdin.buffer)
    else:
        try:
            with open(source, "rb") as stream:
                text = _searched(stream)
        except OSError as error:
            raise Mistake(
                f"--log={source} cannot be read ({error.strerror}): name a file, or - for "
                f"standard input"
            ) from error
    if not text.lines:
        raise Mistake(f"--log={source} is empty: give what the program printed, from its start")
    return text


def _searched(stream: BinaryIO) -> LogText:
    shapes: set[int] = set()
    head: list[tuple[int, str]] = []
    tail: collections.deque[tuple[int, str]] = collections.deque()
    head_letters = tail_letters = left_out = number = 0
    for number, line in _lines(stream):
        shape = hash(line.translate(NOT_SHAPE))
        if not line or shape in shapes:
            continue
        if len(shapes) == SHAPES_KEPT:
            shapes.clear()
        shapes.add(shape)
        if head_letters < HEAD_LETTERS:
            head.append((number, line))
            head_letters += len(line)
            continue
        tail.append((number, line))
        tail_letters += len(line)
        while tail_letters > TAIL_LETTERS:
            tail_letters -= len(tail.popleft()[1])
            left_out += 1
    return LogText([*head, *tail], number, left_out)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield the lines of ``stream`` with their numbers; the states of a bar share a number."""
    buffered = io.BufferedReader(stream)
    start = buffered.peek(4)
    encoding = next((name for mark, name in ENCODINGS if start.startswith(mark)), "utf-8")
    text = io.TextIOWrapper(buffered, encoding=encoding, errors="replace", newline="\n")
    number = 1
    for piece in iter(lambda: text.readline(PIECE_LETTERS), ""):
        for line in piece.split("\r"):
            yield number, _cleaned(line)
        number += piece.endswith("\n")
    # The stream is not ours to close.
    text.detach()
    buffered.detach()


def _cleaned(line: str) -> str:
    line = line.rstrip()
    # Most lines of a large log need nothing of this.
    if not line.isprintable() or "\\u001b" in line:
        line = CONTROLS.sub(" ", COLOURS.sub("", line))
    if line.startswith('{"log":"'):
        in_json = JSON_LINE.match(line)
        line = in_json.group("line") if in_json else line
    line = PREFIX.sub("", line.rstrip())
    return ESCAPED_QUOTE.sub('"', line) if '\\"' in line else line
