"""Actions of one user can reach each other, which is recorded; another user reaches nothing."""

from __future__ import annotations

import pytest

from environments.promises import SHARED_USER, Promise

from .conftest import DOCKER, SANDBOX, Place


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_what_one_user_can_do_to_itself_is_recorded(start: object, label: str) -> None:
    place: Place = start(label)  # type: ignore[operator]
    assert SHARED_USER in place.started.lost
    assert Promise.UNFORGEABLE in place.started.promises
    shared: Place = start(label, shell="persistent")  # type: ignore[operator]
    assert SHARED_USER not in shared.started.lost
    assert Promise.UNFORGEABLE not in shared.started.promises


@pytest.mark.parametrize("label", [SANDBOX, DOCKER])
def test_a_later_action_that_was_killed_or_flooded_is_reported_as_such(start: object, label: str) -> None:
    place: Place = start(label, output_bytes=1 << 20)  # type: ignore[operator]
    find = "for p in /proc/[0-9]*; do grep -qs ^VICTIM=$1 -z $p/environ && echo ${p#/proc/} && break; done"
    place.text(f"echo '{find}' >find.sh")
    kill = "until p=$(bash find.sh 1) && [[ $p ]]; do sleep 0.02; done; sleep 0.1; kill -9 $p"
    flood = "until p=$(bash find.sh 2) && [[ $p ]]; do sleep 0.02; done; head -c 90000000 /dev/zero >/proc/$p/fd/1"
    place.text(f"({kill}; {flood}) >/dev/null 2>log </dev/null &")
    killed = place.run("export VICTIM=1; exec sleep 5")
    assert (killed.ended, killed.exit_code, killed.signal) == ("exited", None, 9)
    flooded = place.run("export VICTIM=2; exec sleep 5")
    assert (flooded.ended, flooded.exit_code, len(flooded.output)) == ("output_cap", None, 1 << 20)
    assert place.text("echo next") == "next\n"


@pytest.mark.docker
def test_another_user_reaches_nothing_of_a_persistent_shell(start: object) -> None:
    place: Place = start("docker", shell="persistent")  # type: ignore[operator]
    names = "/run/retrace/{action,script,turn,rc,words,keeper,told,out,error,times,list,pipe{1..9}}"
    script = f"for f in {names}; do (: <$f) || (: >>$f); (($?)) || echo $f; done 2>/dev/null; ls /run/retrace"
    assert b"/run/retrace/script" in place.run(script).output  # the shell itself has to read it
    other = f"setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '{script}'"
    action = place.run(f"{other} 2>&1; true", as_root=True)
    assert action.output == b"ls: cannot open directory '/run/retrace': Permission denied\n"


def test_flags_of_a_pipe_do_not_outlive_an_action(place: Place) -> None:
    """A program may set O_NONBLOCK on its standard output; a later one would lose what it writes to a full pipe."""
    place.run("python3 -c 'import os; os.set_blocking(1, False); os.set_blocking(2, False)' || perl -e 1")
    flags = place.text("grep flags /proc/self/fdinfo/1").split()[1]
    assert int(flags, 8) & 0o4000 == 0
