"""Changes in a workspace since a mark, and the content of its files: all are seen, and none is invented."""

from __future__ import annotations

import hashlib
import io
import os
import random
import tarfile
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from environments.archives.left_out import unlisted
from environments.listing.listing import Changed, ListedPath, Listing
from environments.promises import Promise
from environments.protocol import EnvironmentLost
from environments.wire.digests import of_lines

from .conftest import DOCKER, Place
from .test_archives import ODD

Start = Callable[..., Place]


def changes(place: Place, script: str, mark: Listing | None = None) -> list[tuple[str, str]]:
    mark = mark or place.environment.listing()
    place.text(script)
    return [(changed.change, changed.entry.path) for changed in place.environment.listing().since(mark)]


def names(place: Place, paths: list[str]) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(b"".join(place.environment.get_files(paths)))) as archive:
        return archive.getnames()


@pytest.fixture
def empty(place: Place) -> Place:
    place.text("chmod -R u+rwx .; find . -mindepth 1 -delete; chmod 755 .")
    return place


CHANGES = {
    "nothing": ("", []),
    "read only": ("cat f d/g >/dev/null; ls -R >/dev/null", []),
    "a new file": ("echo >new", [("created", "new")]),
    "a new file below": ("echo >d/new", [("created", "d/new")]),
    "appended": ("echo more >>f", [("modified", "f")]),
    "rewritten, same size": ("printf 'F\n' >f", [("modified", "f")]),
    "rewritten, same size and time": (
        "touch -r f /tmp/t; printf 'F\n' >f; touch -r /tmp/t f; rm /tmp/t",
        [("modified", "f")],
    ),
    "mode": ("chmod 600 f", [("modified", "f")]),
    "mode of a directory": ("chmod 700 d", [("modified", "d")]),
    "deleted": ("rm f", [("deleted", "f")]),
    "deleted tree": ("rm -r d", [("deleted", "d"), ("deleted", "d/g")]),
    "renamed": ("mv f h", [("deleted", "f"), ("created", "h")]),
    "renamed tree": ("mv d e", [("deleted", "d"), ("deleted", "d/g"), ("created", "e"), ("created", "e/g")]),
    "replaced by a rename": ("cp -p f t; mv t f", [("modified", "f")]),
    "hard link": ("ln f linked", [("modified", "f"), ("created", "linked")]),
    "link retargeted": ("ln -sfn to2 link", [("modified", "link")]),
    "file becomes directory": ("rm f; mkdir f", [("modified", "f")]),
    "directory becomes file": ("rm -r d; echo >d", [("modified", "d"), ("deleted", "d/g")]),
    "written through a link to outside": ("echo >>outside", []),
    "a pipe that is used": ("(echo x >pipe &); cat pipe >/dev/null", []),
    "made and removed": ("echo >x; rm x; mkdir y; rmdir y", []),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen(empty: Place, change: str) -> None:
    empty.text("echo f >f; mkdir d; echo g >d/g; ln -s to1 link; mkfifo pipe; echo >/tmp/out; ln -s /tmp/out outside")
    script, expected = CHANGES[change]
    assert changes(empty, script) == expected


def test_a_listed_path_has_type_mode_and_size(empty: Place) -> None:
    empty.text("printf 12345 >f; chmod 4750 f; mkdir d; chmod 1777 d; ln -s target link; mkfifo -m 600 pipe")
    assert empty.environment.listing().entries() == [
        ListedPath("d", "directory", 0o1777, 0),
        ListedPath("f", "file", 0o4750, 5),
        ListedPath("link", "symlink", 0o777, 6),
        ListedPath("pipe", "other", 0o600, 0),
    ]
    (deleted,) = Listing().since(Listing(b"m\0w\0f644 7 1 1 gone\0"))
    assert deleted == Changed("deleted", ListedPath("gone", "file", 0o644, 7))
    assert Promise.CHANGED_FILES in empty.started.promises


def test_a_rewrite_right_after_a_mark(empty: Place) -> None:
    """The rewrites come faster than the clock that stamps files."""
    empty.text("echo 0 >f")
    for number in range(1, 30):
        assert changes(empty, f"echo {number % 10} >f") == [("modified", "f")]


GROUP_ENDS = """while for stat in /proc/[0-9]*/stat; do
  { read -r line <"$stat"; } 2>/dev/null && set -- ${line##*) } && [[ $1 != Z && $3 == "$group" ]] && break
  false
done; do sleep 0.01; done"""
"""Waits until no process of a group lives; nobody may fetch the exit status of those that ended."""


def test_a_background_process_that_writes_while_it_is_listed(empty: Place) -> None:
    empty.text(
        "setsid bash -c 'while echo >>grows; do echo >new; mv new old; sleep 0.001; done' >/dev/null 2>&1 & "
        "echo $! >/tmp/${PWD##*/}.busy"
    )
    empty.text("until [ -s grows ]; do sleep 0.01; done")
    grown = "size=$(stat -c %s grows); while [ $(stat -c %s grows) = $size ]; do sleep 0.01; done"
    try:
        for _ in range(5):
            assert ("modified", "grows") in changes(empty, grown)
    finally:
        # The loop and what it has started: on a busy machine a `mv` goes on long after a loop that was killed alone.
        empty.text(f"busy=/tmp/${{PWD##*/}}.busy; group=$(cat $busy); rm $busy; kill -KILL -- -$group; {GROUP_ENDS}")
    mark = empty.environment.listing()
    assert empty.environment.listing().since(empty.environment.listing()) == []
    assert {changed.entry.path for changed in empty.environment.listing().since(mark)} <= {"grows", "new", "old"}


def test_every_name_is_listed(empty: Place) -> None:
    empty.text(ODD)
    listing = empty.environment.listing()
    paths = {entry.path: entry for entry in listing.entries()}
    script = "find . -mindepth 1 -printf '%P\\0' | LC_ALL=C sort -z"
    assert sorted(os.fsencode(path) for path in paths) == empty.run(script).output.split(b"\0")[:-1]
    assert paths["odd/sparse"].size == (2 << 30) + 3
    assert {path for path, entry in paths.items() if entry.type == "other"} == {"odd/pipe", "odd/socket"}
    kept = [path for path, entry in paths.items() if entry.type != "other" and entry.size < 1 << 20]
    stream = io.BytesIO(b"".join(empty.environment.get_files(kept)))
    with tarfile.open(fileobj=stream, encoding="utf-8", errors="surrogateescape") as archive:
        members = {member.name: member for member in archive}
        assert sorted(members) == sorted(f"./{path}" for path in kept)
        body = archive.extractfile("./odd/linked")
        assert body is not None
        assert body.read() == b"one\n"
    assert {(member.uid, member.gid) for member in members.values()} == {(0, 0)}
    assert not members["./odd/linked"].islnk()
    assert members["./odd/dangling"].linkname == "nowhere"
    files = [path for path in kept if paths[path].type == "file"]
    digests = empty.environment.digests([*kept, "odd/pipe", "gone"])
    assert sorted(digests) == sorted(files)
    assert digests["odd/plain"] == digests["odd/linked"] == hashlib.sha256(b"one\n").hexdigest()
    assert (
        digests["odd/new\nline"] == digests["odd/a\\nb"] == digests["odd/caf\udce9"] == hashlib.sha256(b"x").hexdigest()
    )


def test_vanished_paths_are_left_out(empty: Place) -> None:
    empty.text("echo >here; mkdir d")
    assert names(empty, ["gone", "here", "d", "d/gone"]) == ["./here", "./d"]
    assert names(empty, ["gone"]) == []
    assert b"".join(empty.environment.get_files([])) == b""
    assert empty.environment.digests([]) == {}
    assert empty.text("echo next") == "next\n"


def test_many_names_at_once(empty: Place) -> None:
    empty.text("for d in $(seq 30); do mkdir $d; (cd $d; echo >f; touch $(seq 1000 1120)); done")
    mark = empty.environment.listing()
    assert len(mark.entries()) == 30 * 123
    files = [entry.path for entry in mark.entries() if entry.type == "file"]
    assert len(empty.environment.digests(files)) == len(files)
    assert names(empty, files) == [f"./{path}" for path in files]
    assert changes(empty, "echo >7/1007; rm 8/1008; echo >9/0", mark) == [
        ("modified", "7/1007"),
        ("deleted", "8/1008"),
        ("created", "9/0"),
    ]


@pytest.mark.parametrize("length", [2, 100, 255])
def test_a_tree_that_is_too_deep_is_reported(empty: Place, length: int) -> None:
    perl = f"my $n = 'd' x {length}; for (1 .. {5_000 // length}) {{ mkdir $n and chdir $n or die }}"
    empty.text(f"perl -e '{perl}'; echo >beside")
    listing = empty.environment.listing()
    assert "beside" in [entry.path for entry in listing.entries()]
    assert all(len(entry.path) < 4090 for entry in listing.entries())
    (deep,) = listing.unlisted
    assert deep.path.startswith("d" * min(length, 100))
    assert "too many" in deep.why
    assert not listing.since(listing)
    list(empty.environment.get_files([entry.path for entry in listing.entries()]))
    assert empty.text("rm -rf d*; echo next") == "next\n"


def test_locked_paths_are_listed_or_reported(empty: Place) -> None:
    empty.text("mkdir locked; echo >locked/in; chmod 0 locked/in locked")
    listing = empty.environment.listing()
    paths = [entry.path for entry in listing.entries()]
    if empty.started.kind == "local" and os.geteuid():
        assert paths == ["locked"]
        assert [(skipped.path, skipped.why) for skipped in listing.unlisted] == [("locked", "Permission denied")]
    else:
        assert paths == ["locked", "locked/in"]
        assert len(empty.environment.digests(["locked/in"])) == 1
        assert not listing.unlisted
    empty.text("chmod 755 locked; rm -rf locked")


def test_a_workspace_that_was_removed(start: Start) -> None:
    place = start("local")
    place.text("echo >f")
    mark = place.environment.listing()
    place.text("rm -rf $PWD")
    assert [changed.change for changed in place.environment.listing().since(mark)] == ["deleted"]
    assert b"".join(place.environment.get_files(["f"])).strip(b"\0") == b""


WITHOUT_FIND = r"""for tool in /usr/bin/find /bin/find; do
  [ -e $tool ] || continue; rm -f $tool; printf '#!/bin/sh\nexit 1\n' >$tool; chmod 755 $tool; done"""


@pytest.mark.docker
def test_without_gnu_find_the_listing_is_the_same(start: Start) -> None:
    place = start("docker")
    place.text(ODD)
    with_find = place.environment.listing()
    without = start("docker")
    assert without.run(WITHOUT_FIND, as_root=True).exit_code == 0
    without.text(ODD)
    by_names = without.environment.listing()
    assert by_names.entries() == with_find.entries()
    assert by_names.unlisted == with_find.unlisted == ()
    assert changes(without, "echo more >>odd/plain; rm odd/empty; chmod 700 odd/deep", by_names) == [
        ("modified", "odd/deep"),
        ("deleted", "odd/empty"),
        ("modified", "odd/linked"),
        ("modified", "odd/plain"),
    ]
    without.text("perl -e 'my $n = q(d) x 200; for (1 .. 40) { mkdir $n and chdir $n or die }'")
    (deep,) = without.environment.listing().unlisted
    assert deep.path.startswith("ddd")


def test_a_listing_takes_no_processor_time_from_an_action(empty: Place) -> None:
    empty.text("for d in $(seq 30); do mkdir $d; (cd $d; touch $(seq 100)); done; true")
    alone = empty.run("true").cpu_s
    for _ in range(10):
        empty.environment.listing()
    after = empty.run("true").cpu_s
    assert alone is not None
    assert after is not None
    assert after < alone + 0.02


@pytest.mark.parametrize("label", ["local", DOCKER])
def test_a_listing_after_the_end_is_an_error(start: Start, label: str) -> None:
    place = start(label)
    place.environment.stop()
    with pytest.raises(EnvironmentLost, match="stopped"):
        place.environment.listing()


RECORDS = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(1, 3)), max_size=8, unique_by=lambda pair: pair[0]
)


@given(RECORDS, RECORDS, st.integers(0, 3), st.integers(0, 5000))
def test_trimming_common_records_changes_nothing(
    old_records: list[tuple[str, int]], new_records: list[tuple[str, int]], seed: int, padding: int
) -> None:
    common = "".join(f"f644 1 1 1 common-{number:05d}\0" for number in range(padding))

    def listing(records: list[tuple[str, int]]) -> Listing:
        own = [f"f644 {size} 1 1 {name}\0" for name, size in records]
        random.Random(seed).shuffle(own)
        half = len(own) // 2
        text = (
            "".join(own[:half]) + common + "".join(own[half:]) if seed % 2 else common + "".join(own) + common[: 29 * 0]
        )
        return Listing(b"m\0w\0" + text.encode())

    changes = [(changed.change, changed.entry.path) for changed in listing(new_records).since(listing(old_records))]
    old, new = dict(old_records), dict(new_records)
    expected = [("created", name) for name in new.keys() - old.keys()]
    expected += [("deleted", name) for name in old.keys() - new.keys()]
    expected += [("modified", name) for name in new.keys() & old.keys() if new[name] != old[name]]
    assert changes == sorted(expected, key=lambda pair: pair[1])


def test_complaints_of_a_lister_are_sorted_by_meaning() -> None:
    words = (
        "find: './a: b': Permission denied\nstat: cannot statx 'gone': No such file or directory\nfind: out of memory\n"
    )
    skipped, rest = unlisted(words + "segmentation fault\n")
    assert [(skipped.path, skipped.why) for skipped in skipped] == [("a: b", "Permission denied")]
    assert rest == ["find: out of memory", "segmentation fault"]


def test_digests_are_read_as_sha256sum_writes_them() -> None:
    digest = b"0" * 64
    lines = digest + b"  ./plain\n\\" + digest + b"  ./a\\nb\\\\c\n" + digest + b" *./binary\nshort\n"
    assert of_lines(lines) == dict.fromkeys(("plain", "a\nb\\c", "binary"), "0" * 64)
