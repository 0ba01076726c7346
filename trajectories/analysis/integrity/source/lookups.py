"""Source lookup: commands that fetch or read the program's own source (rules `clone`, `download`, `package`,
`package_cache`).

The task's id contains the program's name; without a name only hosts of source code are recognized.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from trajectories.analysis.commands.well_known import names_in
from trajectories.analysis.integrity.walk import UnwrappedCommand

_HOSTS = names_in(
    """github.com githubusercontent.com gitlab.com bitbucket.org sourceforge.net codeberg.org sr.ht gitea.com gitee.com
    launchpad.net savannah.gnu.org savannah.nongnu.org ftp.gnu.org git.kernel.org googlesource.com debian.org
    fossies.org archive.org softwareheritage.org sourcegraph.com grep.app"""
)
"""Public hosts of source code and their mirrors; a subdomain counts."""
_HOST_BEGINS = ("git.", "gitlab.", "cgit.", "svn.", "hg.")
_URL = re.compile(r"\b(?:https?|git|ssh|ftps?|svn)(?:\+[a-z]{1,8})?://([^\s'\"<>()|;`]{1,500})", re.IGNORECASE)
_SCP = re.compile(r"\b[a-z0-9_.-]{1,64}@([a-z0-9.-]{1,200}):(?!\d+/)[^\s'\"]{1,300}", re.IGNORECASE)
_HERE = re.compile(r"(?:localhost|127\.[\d.]+|0\.0\.0\.0|\[::1?\])(?::\d+)?(?=[/?#]|$)", re.IGNORECASE)
FETCHES = re.compile(
    r"\burlopen\s*\(|\burlretrieve\s*\(|\brequests\.(?:get|post|Session)\b|\bhttpx\.\w|\bfetch\s*\(|\bhttps?\.get\s*\(|"
    r"\bget(?:print|store)\s*\(|\bURI\.open\b|\bNet::HTTP\b|\bLWP\b|\bclone_from\s*\("
)
DOWNLOADERS = names_in("curl wget wget2 aria2c axel lynx links w3m elinks http https xh lwp-download ftp")
_REMOTE_GIT = names_in("clone fetch pull ls-remote submodule remote archive")
_MANAGERS: dict[str, frozenset[str]] = {
    name: names_in(verbs)
    for names, verbs in (
        ("pip pip3 pipx uv", "install download wheel add tool"),
        ("cargo", "install add fetch download clone"),
        ("go", "get install download"),
        ("npm pnpm yarn bun npx", "install i add pack exec dlx"),
        ("gem", "install fetch unpack"),
        ("apt apt-get aptitude", "install source download build-dep"),
        ("apk dnf yum zypper", "add fetch install download source"),
        ("brew snap flatpak port", "install fetch cat"),
        ("pacman yay emerge xbps-install", "-S -Sy -Syu -Sw -a --sync"),
        ("conda mamba micromamba", "install create"),
        ("nix-env nix-shell nix guix", "-i -iA -p install shell build"),
        ("cabal stack opam luarocks cpan cpanm composer", "install get unpack source download require build"),
        ("pull-debian-source dget debcheckout", ""),
    )
    for name in names.split()
}
_CACHES = re.compile(
    r"(?:\.cargo/(?:registry|git)|/pkg/mod|/node_modules|/site-packages|/dist-packages|/usr/(?:local/)?src|"
    r"/\.m2/repository|/\.cabal/packages)(/[^\s'\"]{0,400})"
)
_AFFIX = re.compile(
    r"^(?:lib|python3?-|py|node-|golang-|ruby-|rust-)|(?:-dev|-devel|-src|-source|-cli|-bin|-rs|-tools?)$"
)
_LOOKERS = names_in("cat ls find head tail less more grep rg cp tree sed awk bat tar cd git vim nl wc")


@dataclass(frozen=True)
class Program:
    """The names of a task's program: its repository, and the owner if known."""

    name: str
    owner: str = ""

    @classmethod
    def of(cls, task: str) -> Program:
        """Derive the names from a task's id: `programbench/ffmpeg__ffmpeg.360a402`, `demo/figlet`."""
        last = re.sub(r"\.[0-9a-f]{7}$", "", task.rpartition("/")[2].lower())
        owner, _, name = last.rpartition("__")
        return cls(name, owner)

    def is_package(self, word: str) -> bool:
        """Return True if a package's name, possibly with version and path, is the program's."""
        if not self.name or not word or word[0] in "-./~$":
            return False
        word = re.split(r"[=<>~!\[;,]", word.lower(), maxsplit=1)[0].partition("@")[0] or word.lower()
        parts = word.strip("/").split("/")
        if len(parts) > 1:
            return self.name in parts and (not self.owner or self.owner in parts)
        return self.name in (word, _AFFIX.sub("", word), re.sub(r"\d+(?:\.\d+)*$", "", _AFFIX.sub("", word)))

    def in_path(self, path: str) -> bool:
        """Return True if a directory or file in a path has the program's name, possibly with a version after it."""
        if not self.name:
            return False
        pattern = re.compile(
            rf"(?:^|/){re.escape(self.name)}(?:[-_@.](?:v?\d|[0-9a-f]{{7}})[^/]*)?(?:\.git|\.tar\.\w+|\.t\w\w|\.zip)?(?:/|$)"
        )
        return pattern.search(path.lower()) is not None


def lookup_breaches(unwrapped: UnwrappedCommand, program: Program) -> Iterator[tuple[str, str]]:
    """Yield (rule, evidence) for each breach of one command."""
    text = unwrapped.text
    if unwrapped.name == "git" or (unwrapped.name == "gh" and unwrapped.words[1:3] and unwrapped.words[1] == "repo"):
        verb = next((word for word in unwrapped.words[1:] if word in _REMOTE_GIT), None)
        if verb is not None and (unwrapped.name == "gh" or _elsewhere(text)):
            yield "clone", text
    elif unwrapped.name in ("svn", "hg", "bzr", "darcs", "fossil") and _elsewhere(text):
        yield "clone", text
    elif unwrapped.name in DOWNLOADERS and any(_source(address, program) for address in addresses(text, bare=True)):
        yield "download", text
    elif unwrapped.code is not None and FETCHES.search(unwrapped.code):
        for address in addresses(unwrapped.code):
            if _source(address, program):
                yield "download", address
                break
    yield from _packages(unwrapped, program)
    if unwrapped.name in _LOOKERS:
        for word in (*unwrapped.words[1:], unwrapped.command.cwd):
            cache = _CACHES.search(word)
            if cache is not None and program.in_path(cache[1]):
                yield "package_cache", text
                break


def _packages(unwrapped: UnwrappedCommand, program: Program) -> Iterator[tuple[str, str]]:
    words = unwrapped.words
    if unwrapped.name.startswith("python") and words[1:2] == ("-m",):
        words = words[2:]
    name = words[0].rpartition("/")[2] if words else ""
    verbs = _MANAGERS.get(name)
    if verbs is None:
        return
    verbs_used = [word for word in words[1:] if word in verbs]
    source = name.startswith("apt") and "source" in verbs_used
    if (verbs_used or not verbs or name == "npx") and (source or any(map(program.is_package, words[1:]))):
        yield "package", unwrapped.text


def addresses(text: str, bare: bool = False) -> list[str]:
    """Return host and path of every address elsewhere; `bare` includes words like `github.com/org/repo`."""
    every = [match[1] for match in _URL.finditer(text)]
    if bare:
        every += [word for word in text.split()[1:] if "://" not in word and _is_source_host(word.partition("/")[0])]
    return [address for address in every if not _HERE.match(address)]


def _elsewhere(text: str) -> bool:
    return bool(addresses(text)) or _SCP.search(text) is not None


def _source(address: str, program: Program) -> bool:
    host, _, path = address.partition("/")
    return _is_source_host(host.rpartition("@")[2]) or program.in_path(f"/{re.split('[?#]', path)[0]}")


def _is_source_host(host: str) -> bool:
    host = host.partition(":")[0].lower().rstrip(".")
    if host.startswith(_HOST_BEGINS) and host.count(".") > 1:
        return True
    parts = host.split(".")
    return any(".".join(parts[at:]) in _HOSTS for at in range(len(parts)))
