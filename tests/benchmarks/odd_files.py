"""A directory that holds what real ones sometimes do."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path

NAMES = (b"caf\xe9 \xff", b"-n", b"with\nline", b"*", b"a b")
"""Names that are not UTF-8, look like an option, or need care in a shell."""


def make(root: Path) -> Path:
    """Odd names, an empty file, links (dangling, absolute, climbing), an executable, a pipe, a socket and a device."""
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
    with contextlib.suppress(PermissionError):  # only root may
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
    """Path to kind and content or target, links not followed."""
    found: dict[bytes, tuple[str, bytes]] = {}
    top = os.fsencode(directory)
    for path, directories, files in os.walk(top):
        for name in directories + files:
            full = os.path.join(path, name)
            below = os.path.relpath(full, top)
            if os.path.islink(full):
                found[below] = ("link", os.readlink(full))
            elif os.path.isdir(full):
                found[below] = ("directory", b"")
            elif os.path.isfile(full):
                with open(full, "rb") as file:
                    found[below] = ("file", file.read())
            else:
                found[below] = ("special", b"")
    return found
