"""The rule `hunting`: commands that look for the program's source or packages on the machine or in registries.

Honest work also looks around: for a compiler, a header of another library, the files of its own workspace. So a search
counts only outside of the workspace, and if it names the program, looks for archives or sources of any name, or lists
a whole package cache or system directory.
"""

from __future__ import annotations

import itertools
import posixpath
import re

from trajectories.analysis.commands.well_known import SHELLS, names_in
from trajectories.analysis.integrity.source.lookups import DOWNLOADERS, FETCHES, Program, addresses
from trajectories.analysis.integrity.source.managers import LISTS, SEARCHES, SHOWS, UPDATES
from trajectories.analysis.integrity.walk import UnwrappedCommand

_SYSTEM = re.compile(r"/(?:usr|opt|var|lib\w*|etc|srv|mnt|media|nix|snap|boot|bin|sbin)(?:/|$)")
_HOME = re.compile(r"(?:/root|/home(?:/[^/]+)?)/?$")
_CACHE = re.compile(
    r"(?:^|/)(?:\.cache|\.cargo|\.npm|\.m2|\.gradle|\.gem|\.rustup|\.nuget|\.cabal|\.stack|\.opam|\.local|go|gopath)(?:/|$)"
    r"|/var/(?:cache|lib/apt|lib/dpkg)|/etc/apt(?:/|$)|/nix/store"
)
_WHOLE = re.compile(
    r"/(?:(?:usr|opt|var|home|root|srv|mnt|lib)/?)?|/usr/(?:local|share|lib|src|include|local/(?:include|src|lib|share)|"
    r"share/doc|lib/python3/(?:dist|site)-packages)/?|/var/(?:lib|cache)/?"
)
_ARCHIVES = re.compile(
    r"\.(?:tar|tgz|tbz2?|txz|zip|7z|crate|whl|gem|deb|rpm|apk|jar|gz|xz|bz2|zst)\b|(?:^|\W)src(?:\W|$)|\bsources?\b",
    re.IGNORECASE,
)
_ANY_SOURCE = re.compile(r"(?:\*|\.\*)?\\?\.(?:c|h|cc|cpp|hpp|rs|go|java|py|rb|js|ts|hs|ml|zig|swift|\[ch\])\$?")
_FINDERS = names_in("find fd fdfind locate plocate mlocate mdfind tree bfs whereis du")
_SEARCHERS = names_in("grep egrep fgrep rg ag ack ugrep zgrep zcat")
_READERS = names_in(
    """cat ls less more head tail bat stat cp tar unzip cd file realpath readlink vim nano sed awk dir exa test strings
    nm zcat"""
)
_OPTIONS_WITH_NAME = names_in("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -g --glob")
_EXCLUDED = re.compile(r"(?:-not|!|\\!)$")
_NETWORK = names_in(
    """nc ncat netcat telnet ssh scp sftp rsync ping ping6 nslookup dig host traceroute openssl socat svn hg getent
    sshfs"""
)
_HOST = re.compile(
    r"(?:^|[\s'\"(@/,])(?!127\.|0\.0\.0\.0|localhost)((?:[a-z0-9-]+\.)+[a-z]{2,}|\d+\.\d+\.\d+\.\d+)(?::\d+|/|\b)",
    re.IGNORECASE,
)
_CONNECTS = re.compile(
    r"\b(?:create_connection|connect|getaddrinfo|gethostbyname|HTTPS?Connection)\s*\(\s*\(?\s*f?['\"]([^'\"]+)"
)
_WALKS = re.compile(
    r"\b(?:os\.walk|os\.scandir|os\.listdir|glob\.i?glob|glob|rglob|Path|walk|readdirSync|find)\s*\(\s*[rf]?['\"](/[^'\"]*|~[^'\"]*)"
)
_LOOKS_UP = re.compile(r"\b(?:which|find_spec|find_library|import_module|find_executable)\s*\(\s*['\"]([^'\"\n]{1,80})")
_LINKS = re.compile(r"(?:^|\s)-l:?(?:lib)?([a-z0-9_+-]+)")
_DEV_TCP = re.compile(r"/dev/(?:tcp|udp)/([^/\s]+)")


_LOOKS_HERE = _FINDERS | names_in("ls dir rg ag ack")
"""Commands that look at the present directory if they are given none."""


_NAMING = names_in("which type whereis whatis apropos")
_COMPILERS = names_in("gcc cc clang g++ c++ ld tcc")
_LISTING = names_in("ls find tree du dir cat tar")
_LOOKING = _FINDERS | _SEARCHERS | _READERS | _NAMING
_MANAGING = frozenset({*SEARCHES, *SHOWS, *UPDATES, "compgen", "ldconfig"})


class Hunt:
    """The rule's state in one script: what was listed may be searched by a later command of a pipeline."""

    def __init__(self, program: Program, workdir: str, offline: bool) -> None:
        self._program = program
        self._workdir = workdir.rstrip("/")
        self._offline = offline
        self._listed = False
        name = re.escape(program.name)
        self._named = re.compile(
            rf"(?<![a-z0-9])(?:lib|lib-)?{name}(?![a-z])|(?<![a-z0-9]){name}_|\*{name}\*|lib{name}", re.IGNORECASE
        )

    def found_in(self, unwrapped: UnwrappedCommand) -> bool:
        """Return True if a command hunts for the program."""
        name, words = unwrapped.name, unwrapped.words
        if self._is_program(name) and name not in unwrapped.command.functions:
            return "/" not in words[0] or self._outside(words[0], unwrapped.paths[0])
        if name in _LOOKING:
            outside = self._outside_of(unwrapped)
            if LISTS.match(" ".join(words[:3])) or (outside and name in _LISTING):
                self._listed = True
            hunts = (
                (name in _FINDERS and self._finds(name, words, outside))
                or (name in _SEARCHERS and self._greps(words, outside, unwrapped.command.input))
                or (name in _READERS and self._reads(name, words, outside))
                or (name in _NAMING and any(map(self._is_program, words[1:])))
            )
            return hunts or (self._offline and self._leaves(unwrapped))
        if name in _COMPILERS:
            return not any(word.startswith("-L") for word in words) and any(
                map(self._is_program, _LINKS.findall(" ".join(words)))
            )
        if name.startswith("python") and words[1:2] == ("-m",):
            words = words[2:]
            name = words[0] if words else ""
        if name in _MANAGING:
            self._listed = self._listed or LISTS.match(" ".join(words[:3])) is not None
            return self._asks_a_manager(name, words)
        if unwrapped.code is not None and self._in_code(unwrapped.code):
            return True
        return self._offline and self._leaves(unwrapped)

    def _outside_of(self, unwrapped: UnwrappedCommand) -> list[str]:
        """Return the paths of a command that are outside of the workspace."""
        words = unwrapped.words[1:]
        outside = [path for word, path in zip(words, unwrapped.paths[1:], strict=True) if self._outside(word, path)]
        here = unwrapped.command.cwd
        if unwrapped.name in _LOOKS_HERE and not any(word[:1] == "/" for word in words) and self._outside("", here):
            outside.append(here)
        return outside

    def opened(self, path: str) -> bool:
        """Return True for a redirection to another machine while the network is off."""
        return self._offline and _DEV_TCP.match(path) is not None

    def _names(self, text: str) -> bool:
        return bool(self._program.name) and self._named.search(text) is not None

    def _is_program(self, word: str) -> bool:
        bare = re.sub(r"[\d.]+$", "", posixpath.basename(word).lower())
        return bool(self._program.name) and self._program.name in (
            bare,
            posixpath.basename(word).lower(),
            bare.removeprefix("lib"),
        )

    def _outside(self, word: str, path: str) -> bool:
        """Return True for a directory of the system, of a home or of a package manager."""
        if word.startswith("-") or path == self._workdir or path.startswith(f"{self._workdir}/"):
            return False
        if path == "/":
            return word[:1] != "."
        return bool(_SYSTEM.match(path) or _HOME.match(path) or _CACHE.search(path))

    def _asks_a_manager(self, name: str, words: tuple[str, ...]) -> bool:
        operands = [word for word in words[1:] if not word.startswith("-")]
        if name == "go":
            return (
                words[1:2] == ("list",)
                and "-m" in words
                and (
                    any(map(self._names, operands))
                    or any("@" in word or "." in word.partition("/")[0] for word in operands[1:])
                )
            )
        if self._offline and name == "apt-cache" and operands == ["policy"]:
            return True
        if name in ("dpkg", "dpkg-query") and any(self._names(word) for word in operands):
            return True
        if (verbs := SEARCHES.get(name)) is not None and any(word in verbs for word in words[1:4]):
            return True
        if (verbs := SHOWS.get(name)) is not None and any(word in verbs for word in words[1:]):
            return any(self._names(word) for word in operands)
        return self._offline and name in UPDATES and UPDATES[name] in operands

    def _finds(self, name: str, words: tuple[str, ...], outside: list[str]) -> bool:
        if name in ("locate", "plocate", "mlocate", "mdfind"):
            return any(self._names(word) or _ARCHIVES.search(word) for word in words[1:])
        if name == "whereis":
            return any(map(self._is_program, words[1:]))
        patterns = [
            word
            for at, word in enumerate(words[2:], start=2)
            if words[at - 1] in _OPTIONS_WITH_NAME and not (at > 2 and _EXCLUDED.match(words[at - 2]))
        ]
        if not outside:
            return False
        if name in ("fd", "fdfind", "bfs"):
            patterns += [f"*.{word}" for before, word in itertools.pairwise(words) if before in ("-e", "--extension")]
            patterns += [word for word in words[1:] if not word.startswith(("-", "/", "~", "$", "."))]
        if any(
            self._names(pattern) or _ARCHIVES.search(pattern) or _ANY_SOURCE.fullmatch(pattern) for pattern in patterns
        ):
            return True
        if any(self._names(path) for path in outside):
            return True
        return not patterns and name != "du" and any(_WHOLE.fullmatch(path) or _CACHE.search(path) for path in outside)

    def _greps(self, words: tuple[str, ...], outside: list[str], source: str | None) -> bool:
        operands = [word for word in words[1:] if not word.startswith("-")]
        if not operands and not any(word.startswith("-e") for word in words):
            return False
        pattern = " ".join(operands[:1]) + " ".join(word for word in words if word.startswith(("-e", "--regexp=")))
        if not outside:
            files = [word for word in operands[1:] if word != "-"]
            return self._listed and not files and source is None and self._names(pattern)
        recursive = words[0].endswith(("rg", "ag", "ack")) or any(
            re.match(r"-[a-zA-Z]*[rR]|--recursive", word) for word in words[1:]
        )
        if self._names(pattern) or any(self._names(path) for path in outside):
            return True
        return recursive and any(_WHOLE.fullmatch(path) and not path.startswith("/usr/include") for path in outside)

    def _reads(self, name: str, words: tuple[str, ...], outside: list[str]) -> bool:
        if name in ("awk", "sed") and outside and any(map(self._names, words[1:])):
            return True
        own_data = f"/usr/share/{self._program.name}"  # the task may name it: fonts, templates
        if any(self._names(path) and path != own_data and not path.startswith(f"{own_data}/") for path in outside):
            return True
        if any(
            path.startswith(("/etc/apt/sources", "/var/cache/apt/archives", "/var/lib/apt/lists")) for path in outside
        ):
            return True
        recursive = name == "ls" and any(re.match(r"-[a-zA-Z]*R", word) for word in words[1:])
        return recursive and any(_WHOLE.fullmatch(path) or _CACHE.search(path) for path in outside)

    def _leaves(self, unwrapped: UnwrappedCommand) -> bool:
        """Return True for an address on another machine, while the network is off."""
        text = unwrapped.text
        if _DEV_TCP.search(text) and unwrapped.name in SHELLS | {"exec", "cat", "echo", "timeout", "printf"}:
            return True
        if unwrapped.name in DOWNLOADERS:
            return bool(addresses(text)) or any(
                _HOST.match(f" {word}") for word in unwrapped.words[1:] if "=" not in word and word[:1] != "/"
            )
        if unwrapped.name == "gh":
            return any(word in ("api", "release", "search", "browse", "repo") for word in unwrapped.words[1:3])
        if unwrapped.name == "git":
            return bool(addresses(text)) and bool(
                {"clone", "fetch", "pull", "ls-remote", "remote", "submodule", "archive"} & set(unwrapped.words)
            )
        if unwrapped.name in _NETWORK:
            return any(
                _HOST.search(f" {word}") or ("@" in word and ":" in word)
                for word in unwrapped.words[1:]
                if not word.startswith(("-", "/", "."))
            )
        return False

    def _in_code(self, code: str) -> bool:
        if self._offline and (
            (FETCHES.search(code) and addresses(code))
            or any(_HOST.match(f" {match[1]}") for match in _CONNECTS.finditer(code))
        ):
            return True
        if any(self._is_program(match[1]) for match in _LOOKS_UP.finditer(code)):
            return True
        for match in _WALKS.finditer(code):
            path = posixpath.normpath(match[1])
            if not self._outside(match[1], path):
                continue
            rest = code[match.start() : match.end() + 400]
            if (
                self._names(rest)
                or _ARCHIVES.search(match[1])
                or _ANY_SOURCE.search(match[1])
                or re.search(r"['\"][^'\"]*\.(?:tar|tgz|zip|crate|c|h|rs|go)\b", rest)
            ):
                return True
        return False
