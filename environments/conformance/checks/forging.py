"""Actions that try to forge the supervisor's answers, and programs that they may run but not read."""

from __future__ import annotations

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.UNFORGEABLE, "Claims", "DockerAsRoot", alone=True)
def check_channel(place: Place) -> None:
    """The streams between the harness and its supervisor cannot be opened."""
    forge = "[[ -e /proc/1 ]] && for fd in 0 1 2 20 21 22; do (echo x >/proc/1/fd/$fd) 2>/dev/null && echo wrote $fd; "
    forge += "(head -c1 /proc/1/fd/$fd) >/dev/null 2>&1 && echo read $fd; done; true"
    same(place.run(forge, 1.5).output, b"")
    same(place.text("echo honest"), "honest\n")


@check(Promise.UNFORGEABLE, "Claims", "DockerAsRoot", alone=True)
def check_script(place: Place) -> None:
    """An action can neither change nor replace the file with its script."""
    seen = place.text("[[ -w $0 ]] && echo file; [[ -w ${0%/*} ]] && echo directory; true")
    same(seen, "")


@check(Promise.UNFORGEABLE, "Claims", alone=True)
def check_other_streams(place: Place) -> None:
    """An action cannot open its output pipe by the supervisor's name for it, to forge a later result."""
    listed = 'd=${0%/*}; for f in "$d"/*; do [[ -r $f && ! $f -ef $0 ]] && echo "$f"; done; true'
    same(place.text(listed), "")


@check(Promise.EXECUTE_ONLY, "ClaimsAsRoot", "DockerAsRoot")
def check_execute_only(place: Place) -> None:
    """A program of mode 0111 runs, but can be neither read nor copied."""
    place.text('cp "$(type -P echo)" secret-echo; chmod 0111 secret-echo', as_root=True)
    try:
        same(place.run("./secret-echo ran").output, b"ran\n")
        same(place.run("cat secret-echo").exit_code, 1, "cat")
        same(place.run("cp secret-echo copy").exit_code, 1, "cp")
    finally:
        place.run("rm -f secret-echo copy", as_root=True)


@check(Promise.EXECUTE_ONLY, "ClaimsAsRoot", "DockerAsRoot")
def check_running_program(place: Place) -> None:
    """A program of mode 0111 cannot be read from its process while it runs."""
    place.text('cp "$(type -P sleep)" secret-sleep; chmod 0111 secret-sleep', as_root=True)
    try:
        script = "./secret-sleep 2 & sleep 0.1; p=/proc/$!; (cat $p/exe >copy) 2>/dev/null && echo exe; "
        script += (
            "(: <$p/mem) 2>/dev/null && echo mem; (head -c 1 $p/maps >/dev/null) 2>/dev/null && echo maps; kill $!"
        )
        action = place.run(script)
        holds(action.output == b"", "neither file, memory nor map", action.output)
    finally:
        place.run("rm -f secret-sleep copy", as_root=True)
