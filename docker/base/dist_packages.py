"""Makes a CPython 3.8 tree keep its packages in dist-packages, as Debian and Ubuntu do.

Only the interpreter under /usr/local is told so; a virtual environment keeps site-packages.
"""

import sys
from pathlib import Path

CHOICE = '("dist-packages" if sys.prefix == "/usr/local" else "site-packages")'
SCHEME = """
if sys.prefix == "/usr/local":
    for _key in ("purelib", "platlib"):
        {schemes}[_key] = {schemes}[_key].replace("site-packages", "dist-packages")
"""


def replace(path: Path, old: str, new: str) -> None:
    """Replace a text that must be there exactly once."""
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{path}: expected once, found {text.count(old)} times: {old}")
    path.write_text(text.replace(old, new))


def append(path: Path, schemes: str) -> None:
    """Change one table of install locations when its module is loaded."""
    path.write_text(path.read_text() + SCHEME.format(schemes=schemes))


def main(lib: Path) -> None:
    """Change the four modules of the standard library that name the folder."""
    prefixed = CHOICE.replace("sys.prefix", "prefix")
    replace(lib / "site.py", ' ' * 40 + '"site-packages"))', ' ' * 40 + prefixed + "))")
    replace(
        lib / "distutils/sysconfig.py",
        'os.path.join(libpython, "site-packages")',
        f"os.path.join(libpython, {CHOICE})",
    )
    append(lib / "distutils/command/install.py", 'INSTALL_SCHEMES["unix_prefix"]')
    append(lib / "sysconfig.py", '_INSTALL_SCHEMES["posix_prefix"]')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
