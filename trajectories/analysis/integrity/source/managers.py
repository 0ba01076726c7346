"""What package managers are asked: the verbs that search an index, and those that show what is installed."""

from __future__ import annotations

import re

from trajectories.analysis.commands.well_known import names_in

LISTS = re.compile(
    r"(?:dpkg(?:-query)? (?:-l|--list|--get-selections|-W)|apt(?:-get)? list|pip3? (?:list|freeze)|rpm -qa|"
    r"apt-cache (?:dump|pkgnames|dumpavail)|"
    r"apk (?:info|list)|pacman -Q|brew list|gem list|npm (?:ls|list)|conda list|cargo install --list|ldconfig -p|"
    r"compgen|snap list)\b"
)
SEARCHES: dict[str, frozenset[str]] = {
    name: names_in(verbs)
    for names, verbs in (
        ("apt apt-cache aptitude", "search showsrc madison"),
        ("apt-file command-not-found", "search list find show"),
        ("pip pip3 pipx uv", "search index"),
        ("cargo", "search info"),
        ("npm pnpm yarn bun", "search view info show v"),
        ("gem", "search query specification"),
        ("go", "list"),
        (
            "conda mamba micromamba dnf yum zypper apk brew snap flatpak port nix guix choco scoop",
            "search find info repoquery",
        ),
        ("nix-env pacman emerge xbps-query", "-qa -qaP -Ss -Si -Fy -F -s -Rs"),
        ("opam luarocks cabal stack cpan cpanm composer hex dart pub", "search show info list"),
    )
    for name in names.split()
}
"""Verbs with which a package manager asks an index for packages."""
SHOWS: dict[str, frozenset[str]] = {
    name: names_in(verbs)
    for names, verbs in (
        ("dpkg dpkg-query", "-S --search -L --listfiles -s --status -l -W"),
        ("apt apt-cache aptitude", "show policy depends rdepends list showpkg download"),
        ("pip pip3 uv", "show"),
        ("gem", "list which contents info"),
        ("rpm dnf yum", "-q -ql -qi -qf provides list"),
        ("apk pacman brew conda", "info list -Qi -Ql -Qo"),
        ("pkg-config pkgconf", "--cflags --libs --exists --modversion --variable=includedir"),
        ("update-alternatives", "--list --display --query"),
        ("docker podman skopeo", "pull run search copy"),
    )
    for name in names.split()
}
"""Verbs that show what is known of an installed package: a search only if they name the program."""
UPDATES = {
    "apt": "update",
    "apt-get": "update",
    "aptitude": "update",
    "apk": "update",
    "brew": "update",
    "yum": "makecache",
}
