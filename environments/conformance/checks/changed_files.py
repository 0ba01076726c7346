"""Changes in the workspace since a mark."""

from __future__ import annotations

import hashlib

from environments.conformance.checking import check, holds, same
from environments.conformance.contents import contents, joined
from environments.conformance.place import Place
from environments.promises import Promise


def _changes(place: Place, script: str) -> list[tuple[str, str, str]]:
    """Return the changes that `script` makes: (change, type, path)."""
    mark = place.environment.listing()
    place.run(script)
    return [
        (changed.change, changed.entry.type, changed.entry.path) for changed in place.environment.listing().since(mark)
    ]


@check(Promise.CHANGED_FILES, "ListsNoDeletions")
def check_kinds_of_change(place: Place) -> None:
    """A new file, a modified one and a removed one are each reported."""
    place.text("mkdir c; cd c; echo 1 >old; echo 1 >gone")
    seen = _changes(place, "cd c; echo 2 >>old; rm gone; echo 1 >new")
    place.text("rm -r c")
    same(seen, [("deleted", "file", "c/gone"), ("created", "file", "c/new"), ("modified", "file", "c/old")])


@check(Promise.CHANGED_FILES, "Naive")
def check_hidden_change(place: Place) -> None:
    """A change that keeps the size and sets the time back is seen."""
    place.text("echo 1 >sly; touch -d '2001-02-03 UTC' sly")
    seen = _changes(place, "echo 2 >sly; touch -d '2001-02-03 UTC' sly")
    place.text("rm sly")
    same(seen, [("modified", "file", "sly")])


@check(Promise.CHANGED_FILES, "Naive")
def check_mode(place: Place) -> None:
    """A change of mode is seen, and reported with the new mode."""
    place.text("echo 1 >moded; chmod 600 moded")
    mark = place.environment.listing()
    place.text("chmod 755 moded")
    seen = [
        (changed.change, changed.entry.path, changed.entry.mode) for changed in place.environment.listing().since(mark)
    ]
    place.text("rm moded")
    same(seen, [("modified", "moded", 0o755)])


@check(Promise.CHANGED_FILES, "ListsFilesOnly")
def check_types(place: Place) -> None:
    """Directories, links and pipes are listed as what they are."""
    seen = _changes(place, "mkdir t; ln -s nowhere t/link; mkfifo t/pipe")
    place.text("rm -r t")
    same(seen, [("created", "directory", "t"), ("created", "symlink", "t/link"), ("created", "other", "t/pipe")])


@check(Promise.CHANGED_FILES, "ListsEverything")
def check_no_change(place: Place) -> None:
    """Without changes, nothing is listed; reading is not a change."""
    place.text("mkdir n; echo 1 >n/file")
    seen = _changes(place, "cat n/file; ls -l n")
    place.text("rm -r n")
    same(seen, [])


@check(Promise.CHANGED_FILES, "ListsOnlyUtf8")
def check_odd_names(place: Place) -> None:
    """Names with newlines, tabs and invalid UTF-8 are listed."""
    seen = _changes(place, r"mkdir o; cd o; : >$'new\nline'; : >$'tab\t'; : >$'caf\351'; : >'a\nb'")
    place.text("rm -r o")
    names = {path for _, _, path in seen}
    same(names, {"o", "o/new\nline", "o/tab\t", "o/caf\udce9", "o/a\\nb"})


@check(Promise.CHANGED_FILES, "ListsFilesOnly")
def check_entries(place: Place) -> None:
    """A listing has every path with its mode and size."""
    place.text("mkdir -p l/d; printf 12345 >l/file; chmod 640 l/file; chmod 750 l/d")
    entries = {entry.path: entry for entry in place.environment.listing().entries()}
    place.text("rm -r l")
    holds({"l", "l/d", "l/file"} <= set(entries), "all are there", sorted(entries))
    same((entries["l/file"].size, entries["l/file"].mode, entries["l/d"].mode), (5, 0o640, 0o750))


@check(Promise.CHANGED_FILES, "GetsAllOrNothing")
def check_files_of_a_listing(place: Place) -> None:
    """Paths of a listing can be fetched; directories come without content, and vanished paths are left out."""
    place.text("mkdir -p g/d; echo 1 >g/file; echo 2 >g/other")
    members = contents(joined(place.environment.get_files(["g", "g/file", "g/gone"])))
    place.text("rm -r g")
    same(sorted(name.removeprefix("./") for name in members), ["g", "g/file"])
    same([member.body for name, member in members.items() if name.endswith("file")], [b"1\n"])


@check(Promise.CHANGED_FILES, "DigestsOfNames")
def check_digests(place: Place) -> None:
    """The digests of files can be fetched without their content; vanished files have none."""
    place.text("mkdir h; printf 12345 >h/file")
    seen = place.environment.digests(["h/file", "h", "h/gone"])
    place.text("rm -r h")
    same(seen, {"h/file": hashlib.sha256(b"12345").hexdigest()})
