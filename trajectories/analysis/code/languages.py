"""The programming language of a file, by pygments: by its name, otherwise by the interpreter in its first line.

Documents, data and settings are not code. Like binary files and languages that pygments does not know, they have no
language.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import PurePosixPath

LARGEST_SOURCE_BYTES = 4 << 20
"""Largest size of a source file; a larger file is data, whatever its name."""
IGNORED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", "venv", ".tox"})
"""Directories whose content was not written in the trial."""

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
_NOT_SOURCE = frozenset({"go.mod", "go.sum", "go.work"})
_AMBIGUOUS = frozenset({".pl", ".m", ".inc", ".mod", ".v", ".cls", ".t", ".p", ".pro"})
"""Suffixes that several languages share; the content decides (by name alone pygments takes .pl for Prolog)."""
_SHEBANG = re.compile(rb"#!\s*(?:\S*/)?(?:env\s+(?:-\S+\s+)*(?:\w+=\S*\s+)*)?(?:\S*/)?([A-Za-z]+)")


def ignored(path: str) -> bool:
    """Return True if a path, relative to the workspace, is in an ignored directory."""
    return not IGNORED.isdisjoint(path.split("/"))


def language(path: str, content: bytes) -> str | None:
    """Return the language by its name in pygments ("Python", "C++", "Bash", ...), or None."""
    if len(content) > LARGEST_SOURCE_BYTES or b"\0" in content[:8192]:
        return None
    file = PurePosixPath(path)
    if file.suffix in _AMBIGUOUS:
        name = _by_name(file.suffix, content[:4096].decode("utf-8", "replace"))
        if name == "Prolog" and b":-" not in content:
            name = "Perl"
    else:
        name = _by_name(file.name)
    if name is None and not file.suffix:
        match = _SHEBANG.match(content)
        return _by_interpreter(match[1].decode().lower()) if match else None
    return None if name in _NOT_CODE or file.name in _NOT_SOURCE else name


def may_be_source(path: str) -> bool:
    """Return True if a file with this name may be source, so that its content has to be read."""
    file = PurePosixPath(path)
    return not file.suffix or file.suffix in _AMBIGUOUS or language(path, b"") is not None


def language_named(word: str) -> str | None:
    """Return the language's name in pygments for a word that a benchmark uses for it, such as `rs` or `cpp`."""
    return _by_interpreter(word.lower())


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
