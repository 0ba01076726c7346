"""A directory with the unusual files that real ones sometimes have."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

NAMES = (b"caf\xe9 \xff", b"-n", b"with\nline", b"*", b"a b")
"""Names that are not UTF-8, look like an option, or need care in a shell."""


def make(root: Path) -> Path:
    """Make a directory with odd names, an empty file, odd links, an executable, a pipe, a socket and a device."""
    directory = root / "odd"
    directory.mkdir()
    for name in NAMES:
        with open(os.path.join(os.fsencode(directory), name), "wb") as file:
            file.write(b"content")
    (directory / "empty").write_bytes(b"")
    (directory / "empty directory").mkdir()
    (directory / "dangling").symlink_to("nowhere")
    (directory / "absolute").symlink_to("/etc/hostname")
    (directory / "climbing").symlink_to("../../outside")
    (directory / "run.sh").write_text("#!/bin/sh\n")
    (directory / "run.sh").chmod(0o755)
    os.mkfifo(directory / "pipe")
    with contextlib.suppress(PermissionError):  # needs root
        os.mknod(directory / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    here = os.getcwd()
    os.chdir(directory)  # a socket's address is at most 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("socket")
    finally:
        os.chdir(here)
    return directory


def listing(directory: Path) -> dict[bytes, tuple[str, bytes]]:
    """Return type and content (or target) by path; links are not followed."""
    entries: dict[bytes, tuple[str, bytes]] = {}
    top = os.fsencode(directory)
    for path, directories, files in os.walk(top):
        for name in directories + files:
            full = os.path.join(path, name)
            below = os.path.relpath(full, top)
            if os.path.islink(full):
                entries[below] = ("link", os.readlink(full))
            elif os.path.isdir(full):
                entries[below] = ("directory", b"")
            elif os.path.isfile(full):
                with open(full, "rb") as file:
                    entries[below] = ("file", file.read())
            else:
                entries[below] = ("special", b"")
    return entries
