"""The workspace as an archive: complete, or an error."""

from __future__ import annotations

import hashlib
import os

from environments.conformance.checking import check, holds, same
from environments.conformance.contents import Content, contents
from environments.conformance.place import Place
from environments.promises import Promise
from environments.protocol import EnvironmentFault, Export


def _export(place: Place) -> tuple[Export, dict[str, Content]]:
    to = place.scratch / "workspace.tar.zst"
    export = place.environment.export(to)
    return export, contents(to)


@check(Promise.ARCHIVES, "ExportsNoLinks")
def check_links(place: Place) -> None:
    """Links of both kinds, even dangling and absolute ones, are in an export as links."""
    place.text("mkdir e; cd e; echo x >plain; ln plain linked; ln -s nowhere dangling; ln -s /etc/passwd absolute")
    _, members = _export(place)
    place.text("rm -r e")
    links = {name: member.link for name, member in members.items() if member.type == "symlink"}
    same(links, {"./e/dangling": "nowhere", "./e/absolute": "/etc/passwd"})
    same(sorted(members[name].type for name in ("./e/plain", "./e/linked") if name in members), ["file", "link"])


@check(Promise.ARCHIVES, "ExportsOnlyUtf8")
def check_odd_names(place: Place) -> None:
    """Names with newlines, backslashes, globs and invalid UTF-8 are in an export."""
    place.text(r"""mkdir odd; cd odd; printf x >$'new\nline'; printf x >-dash; printf x >'quo"te'\''';
        printf x >$'caf\351'; printf x >'*'; printf x >'a\nb'; printf x >'with space'""")
    _, members = _export(place)
    place.text("rm -r odd")
    names = {"new\nline", "-dash", "quo\"te'", "caf\udce9", "*", "a\\nb", "with space"}
    same({name.removeprefix("./odd/") for name in members if name.startswith("./odd/")} - {""}, names)


@check(Promise.ARCHIVES, "ExportsFilesOnly")
def check_directories(place: Place) -> None:
    """Empty directories and the modes of directories are in an export."""
    place.text("mkdir -p empty/deep; chmod 2750 empty")
    _, members = _export(place)
    place.text("rm -r empty")
    same((members.get("./empty/deep") is not None, members.get("./empty") and members["./empty"].mode), (True, 0o2750))


@check(Promise.ARCHIVES, "ExportsWithoutTimes")
def check_modes_and_times(place: Place) -> None:
    """Modes and times of files are in an export."""
    place.text("echo x >dated; chmod 751 dated; touch -d '2001-02-03 04:05:06 UTC' dated")
    _, members = _export(place)
    place.text("rm dated")
    same((members["./dated"].mode, int(members["./dated"].mtime)), (0o751, 981173106))


@check(Promise.ARCHIVES, "ExportsOwners")
def check_owners(place: Place) -> None:
    """Everything in an export belongs to 0:0, under relative names."""
    place.text("echo x >owned")
    _, members = _export(place)
    place.text("rm owned")
    same({(member.uid, member.gid) for member in members.values()}, {(0, 0)})
    holds(all(name == "." or name.startswith("./") for name in members), "names are relative", sorted(members))


@check(Promise.ARCHIVES, "ExportMiscounts")
def check_facts(place: Place) -> None:
    """The size, hash and number of entries that an export reports are those of the file."""
    place.text("echo x >counted")
    export, members = _export(place)
    raw = (place.scratch / "workspace.tar.zst").read_bytes()
    place.text("rm counted")
    same((export.bytes, export.sha256, export.entries), (len(raw), hashlib.sha256(raw).hexdigest(), len(members)))


@check(Promise.ARCHIVES, "ExportsHolesAsZeros")
def check_sparse(place: Place) -> None:
    """A sparse file stays sparse: an export does not write its holes."""
    place.text("truncate -s 64M sparse; printf end >>sparse")
    _, members = _export(place)
    place.text("rm sparse")
    holds(members["./sparse"].sparse, "it is marked sparse")


@check(Promise.ARCHIVES, "ExportSaysNothing")
def check_what_is_left_out(place: Place) -> None:
    """A named pipe cannot be unpacked everywhere, so it is left out and reported."""
    place.text("mkfifo pipe; echo x >beside")
    export, members = _export(place)
    place.text("rm pipe beside")
    same([(skipped.path, skipped.why) for skipped in export.skipped], [("pipe", "named pipe")])
    holds("./beside" in members and "./pipe" not in members, "the file beside it is there, the pipe is not")


@check(Promise.ARCHIVES, "ExportsAsItRuns")
def check_nothing_runs_meanwhile(place: Place) -> None:
    """Background processes are ended before the workspace is read."""
    place.text("(trap '' TERM; for i in $(seq 200); do sleep 0.02; echo x; done >>growing) & echo $! >pid")
    _export(place)
    same(place.run("kill -0 $(cat pid) 2>/dev/null || echo ended; rm growing pid").output, b"ended\n")


@check(Promise.ARCHIVES, "ExportsSilently")
def check_where_nothing_can_be_written(place: Place) -> None:
    """An export that cannot be written is an error that names the path, and the next action runs."""
    try:
        place.environment.export(place.scratch / "no-such-directory" / "w.tar.zst")
    except EnvironmentFault as fault:
        holds("no-such-directory" in str(fault), "the message names it", str(fault))
    else:
        raise AssertionError("an export to nowhere succeeded")
    same(place.text("echo next"), "next\n")


@check(Promise.ARCHIVES, "LeavesPieces")
def check_no_pieces(place: Place) -> None:
    """A finished export leaves no temporary files behind."""
    _export(place)
    same(os.listdir(place.scratch), ["workspace.tar.zst"])


@check(Promise.ARCHIVES, "ExportsNoLinks", "ExportsWithoutTimes")
def check_round_trip(place: Place) -> None:
    """A workspace that is exported and put into another environment is the same there."""
    import zstandard

    place.text("mkdir -p trip/a; cd trip; echo 1 >a/1; ln -s a/1 l; touch -d '2001-02-03 UTC' a/1; chmod 700 a/1")
    listed = "cd trip; find . ! -type d -printf '%p|%y|%m|%l|%s|%T@\\n' | sed 's/\\.[0-9]*$//' | LC_ALL=C sort"
    expected = place.text(listed)
    _export(place)
    place.text("rm -r trip")
    other = place.another()
    raw = (place.scratch / "workspace.tar.zst").open("rb")
    with raw, zstandard.ZstdDecompressor().stream_reader(raw) as stream:
        other.environment.put(stream, ".")
    same(other.text(listed), expected)
