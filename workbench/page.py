"""One self-contained HTML page: what it shows is inside it, and it asks the network for nothing."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import jinja2

from workbench import run_folder

TEMPLATES = Path(__file__).with_name("templates")
# What the browser may load: styles of the page itself, and images that are data. No script, no
# font, no address, whatever a name in the results may try to smuggle in.
CONTENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def render(template: str, **values: Any) -> str:
    """Return the page made from ``template``, a file in workbench/templates, and ``values``.

    Every value is escaped. A name that the template uses and ``values`` lacks is an error.
    """
    return _environment().get_template(template).render(values)


def write(file: Path, template: str, **values: Any) -> None:
    """Write the page made from ``template`` and ``values`` to ``file``, whole or not at all."""
    # A file name may hold bytes that are no UTF-8; Python keeps them as lone surrogates.
    content = render(template, **values).encode("utf-8", errors="backslashreplace")
    run_folder.write_whole(file, content)


@functools.lru_cache(maxsize=None)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["content_policy"] = CONTENT_POLICY
    return environment
