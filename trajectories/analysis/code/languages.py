"""Which programming language a file is in, by pygments: by its name, else by the interpreter in its first line.

Documents, data and settings are no code: None, as for what pygments does not know and what is binary.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import PurePosixPath

LARGEST_SOURCE_BYTES = 4 << 20
"""A larger file is data, whatever its name says."""
IGNORED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox"})
"""Directories whose content nobody wrote in the trial."""

_NOT_CODE = frozenset(
    (
        *("Text only", "Text output", "Markdown", "reStructuredText", "Groff", "TeX", "BibTeX", "Org Mode"),
        *("Wikitext", "JSON", "JSON-LD", "JSONBareObject", "YAML", "TOML", "INI", "Properties", "XML"),
        *("XSLT", "DTD", "LDIF", "HTTP", "Diff", "Darcs Patch", "Gettext Catalog", "Desktop file", "Systemd"),
        *("ApacheConf", "Nginx configuration file", "PkgConfig", "Debian Sourcelist", "Debian Control file"),
        *("Tera Term macro", "Kconfig", "E-mail", "PostScript", "Python Traceback", "Nix", "RPMSpec"),
        *("Embedded Ragel", "Hexdump", "ASCII armored"),
    )
)
_NO_SOURCE = frozenset({"go.mod", "go.sum", "go.work"})
_AMBIGUOUS = frozenset({".pl", ".m", ".inc", ".mod", ".v", ".cls", ".t", ".p", ".pro"})
"""Suffixes of several languages, told apart by content (pygments takes .pl for Prolog by its name alone)."""
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")


def ignored(path: str) -> bool:
    """Whether a path, relative to the workspace, lies in a directory that is left out."""
    return not IGNORED.isdisjoint(path.split("/"))


def language(path: str, content: bytes) -> str | None:
    """The language's name as pygments has it ("Python", "C++", "Bash", ...), or None."""
    if len(content) > LARGEST_SOURCE_BYTES or b"\0" in content[:8192]:
        return None
    file = PurePosixPath(path)
    if file.suffix in _AMBIGUOUS:
        found = _by_name(file.suffix, content[:4096].decode("utf-8", "replace"))
        if found == "Prolog" and b":-" not in content:
            found = "Perl"
    else:
        found = _by_name(file.name)
    if found is None and not file.suffix:
        match = _SHEBANG.match(content)
        return _by_interpreter(match[1].decode().lower()) if match else None
    return None if found in _NOT_CODE or file.name in _NO_SOURCE else found


def may_be_source(path: str) -> bool:
    """Whether the name leaves it open that this is source, so that its content has to be read."""
    file = PurePosixPath(path)
    return not file.suffix or file.suffix in _AMBIGUOUS or language(path, b"") is not None


@lru_cache(maxsize=8192)
def _by_name(name: str, content: str | None = None) -> str | None:
    from pygments.lexers import find_lexer_class_for_filename

    lexer = find_lexer_class_for_filename(name if content is None else f"file{name}", content)
    return None if lexer is None else str(lexer.name)


@cache
def _by_interpreter(name: str) -> str | None:
    from pygments.lexers import find_lexer_class_by_name
    from pygments.util import ClassNotFound

    try:
        return str(find_lexer_class_by_name({"node": "javascript", "dash": "sh"}.get(name, name)).name)
    except ClassNotFound:
        return None
