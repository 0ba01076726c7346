"""Access of the harness itself to files that actions have locked."""

from __future__ import annotations

from environments.conformance.checking import check, same
from environments.conformance.contents import contents
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.ADMINISTRATOR, "NoAdministrator")
def check_reads(place: Place) -> None:
    """The administrator reads a file of mode 0 in a directory of mode 0."""
    place.text("mkdir locked; echo hidden >locked/file; chmod 0 locked/file locked")
    same(place.text("cat locked/file", as_root=True), "hidden\n")
    place.text("chmod 700 locked; rm -rf locked")


@check(Promise.ADMINISTRATOR, "NoAdministrator")
def check_changes(place: Place) -> None:
    """The administrator changes and removes files that an action has locked."""
    place.text("mkdir locked; echo a >locked/file; chmod 0 locked/file locked")
    same(place.text("echo b >>locked/file; cat locked/file; rm -r locked", as_root=True), "a\nb\n")


@check(Promise.ADMINISTRATOR, "ExportSkipsLocked")
def check_export(place: Place) -> None:
    """An export has files that only the administrator can read."""
    place.text("mkdir locked; echo hidden >locked/file; chmod 0 locked/file; chmod 0 locked")
    place.environment.export(place.scratch / "w.tar.zst")
    place.text("chmod 700 locked; rm -rf locked")
    members = contents(place.scratch / "w.tar.zst")
    same("./locked/file" in members and members["./locked/file"].body, b"hidden\n")
