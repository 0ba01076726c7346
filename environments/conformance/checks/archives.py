"""Tar streams that go in and come out: unchanged, and without effect outside of their directory."""

from __future__ import annotations

import io
import tarfile

from environments.conformance.checking import check, holds, same
from environments.conformance.contents import contents, file, joined, tar_of
from environments.conformance.place import Place
from environments.promises import Promise
from environments.protocol import EnvironmentFault


@check(Promise.ARCHIVES, "PutsWithoutModes")
def check_put(place: Place) -> None:
    """Files that are put arrive with content, mode and links."""
    link = file("d/link", b"", type=tarfile.SYMTYPE, linkname="nowhere")
    place.environment.put(tar_of(file("d/run", b"#!/bin/sh\necho ran\n", mode=0o750), link), "put")
    same(place.text("stat -c %a put/d/run; put/d/run; readlink put/d/link; rm -r put"), "750\nran\nnowhere\n")


@check(Promise.ARCHIVES, "PutsForeignFiles")
def check_put_gives_files_to_the_user(place: Place) -> None:
    """Files that are put belong to the user of actions; missing directories are made."""
    archive = tar_of(file("a/b", b"body", mode=0o640, uid=12345, gid=54321, uname="someone"))
    place.environment.put(archive, "new/er")
    seen = place.text("stat -c '%u %g' new new/er/a new/er/a/b; id -u; id -g; echo more >>new/er/a/b; rm -r new")
    *owners, uid, gid = seen.splitlines()
    same(owners, [f"{uid} {gid}"] * 3)


@check(Promise.ARCHIVES, "PutsOnlyUstar")
def check_every_format(place: Place) -> None:
    """ustar, GNU and pax archives are accepted, with long and foreign names."""
    for format in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        name = "d/" * 60 + "f" if format == tarfile.USTAR_FORMAT else "d/" * 150 + "é" * 60
        place.environment.put(tar_of(file(name, b"deep"), format=format), "formats")
        same(place.run(f"cat formats/{name}; rm -r formats").output, b"deep", f"format {format}")


@check(Promise.ARCHIVES, "PutsAnywhere", "Naive")
def check_reaching_out(place: Place) -> None:
    """An archive that would write outside of its directory is rejected, whatever the trick."""
    inside = f"{place.started.workdir}/climbed"
    tricks = {
        "absolute": [file(inside)],
        "dots": [file("../climbed")],
        "dots inside": [file("a/../../climbed")],
        "hard link": [file("x", b"", type=tarfile.LNKTYPE, linkname="../../etc/hostname")],
        "through a link": [file("d", b"", type=tarfile.SYMTYPE, linkname=".."), file("d/climbed")],
    }
    for case, members in tricks.items():
        refused = _refused(place, tar_of(*members), "climbing")
        same(place.text("ls climbed 2>/dev/null | wc -l; rm -rf climbing climbed"), "0\n", case)
        holds(refused, f"{case} is refused")


@check(Promise.ARCHIVES, "PutsWhatItCan")
def check_special_files(place: Place) -> None:
    """An archive with a device or a pipe is rejected."""
    for type in (tarfile.CHRTYPE, tarfile.FIFOTYPE):
        holds(_refused(place, tar_of(file("special", b"", type=type)), "special"), "it is refused")
        place.run("rm -rf special")


@check(Promise.ARCHIVES, "PutsWhatItCan")
def check_damage(place: Place) -> None:
    """A truncated or empty archive, or a file that is not one, is rejected, and the next action runs."""
    whole = tar_of(file("f", b"x" * 10_000)).getvalue()
    for case, raw in {"short": whole[:5000], "noise": b"noise" * 1000, "empty": b""}.items():
        holds(_refused(place, io.BytesIO(raw), "damaged"), f"{case}: it is refused")
        same(place.text("rm -rf damaged; echo next"), "next\n")


@check(Promise.ARCHIVES, "PutsWhatItCan")
def check_directory_that_cannot_be(place: Place) -> None:
    """Unpacking below a file is an error that names it."""
    place.text(": >file")
    try:
        place.environment.put(tar_of(file("f")), "file/below")
    except EnvironmentFault as fault:
        holds("file" in str(fault), "the message names it", str(fault))
    else:
        raise AssertionError("it was not refused")
    finally:
        place.text("rm -rf file")


def _refused(place: Place, archive: io.BytesIO, directory: str) -> bool:
    try:
        place.environment.put(archive, directory)
    except EnvironmentFault:
        return True
    return False


@check(Promise.ARCHIVES, "GetsFlat")
def check_get(place: Place) -> None:
    """A path that is fetched comes complete, under its own name."""
    place.text("mkdir -p sent/in; echo a >sent/a; echo b >sent/in/b; : >--odd")
    members = contents(joined(place.environment.get("sent")))
    same(sorted(members), ["sent", "sent/a", "sent/in", "sent/in/b"])
    same(members["sent/in/b"].body, b"b\n")
    same(list(contents(joined(place.environment.get(f"{place.started.workdir}/--odd")))), ["--odd"])
    place.text("rm -r sent -- --odd")


@check(Promise.ARCHIVES, "GetsNothing")
def check_get_what_is_missing(place: Place) -> None:
    """A path that does not exist raises FileNotFoundError."""
    try:
        joined(place.environment.get("missing"))
    except FileNotFoundError:
        same(place.text("echo next"), "next\n")
        return
    raise AssertionError("a path that is missing was fetched")


@check(Promise.ARCHIVES, "LostAfterGivingUp")
def check_get_given_up(place: Place) -> None:
    """A fetch that is abandoned halfway leaves a working environment."""
    place.text("head -c 30000000 /dev/urandom >big")
    stream = place.environment.get("big")
    holds(next(stream), "it begins")
    stream.close()  # type: ignore[attr-defined]
    same(place.text("rm big; echo next"), "next\n")
