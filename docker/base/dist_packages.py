"""Makes a CPython 3.8 tree keep its packages in dist-packages, as Debian and Ubuntu do.

Only the prefix /usr/local is meant: virtual environments and other prefixes keep site-packages.
sysconfig keeps saying site-packages, as it does there.
"""

import sys
from pathlib import Path

FOLDER = '("dist-packages" if prefix == "/usr/local" else "site-packages")'
SCHEME = """
INSTALL_SCHEMES["unix_local"] = {
    _key: _value.replace("site-packages", "dist-packages")
    for _key, _value in INSTALL_SCHEMES["unix_prefix"].items()}
"""


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there exactly once."""
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"error: {path}: {text.count(old)} times, not once: {old}")
    path.write_text(text.replace(old, new))


def main(lib: Path) -> None:
    """Change the three modules of the standard library that name the folder."""
    replace(lib / "site.py", "[:2],\n" + " " * 40 + '"site-packages"', f"[:2], {FOLDER}")
    distutils = lib / "distutils"
    replace(distutils / "sysconfig.py", '(libpython, "site-packages")', f"(libpython, {FOLDER})")
    replace(
        distutils / "command/install.py",
        'self.select_scheme("unix_prefix")',
        'self.select_scheme("unix_local" if self.prefix == "/usr/local" else "unix_prefix")',
    )
    with (distutils / "command/install.py").open("a") as module:
        module.write(SCHEME)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
