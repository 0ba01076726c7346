"""Actions that try to forge the supervisor's answers, and programs that they may run but not read."""

from __future__ import annotations

import base64
import shlex
import time

from environments.conformance.checking import check, holds, same
from environments.conformance.place import Place
from environments.promises import Promise


@check(Promise.UNFORGEABLE, "Claims", "DockerAsRoot", alone=True)
def check_channel(place: Place) -> None:
    """The streams between the harness and its supervisor cannot be opened."""
    forge = "[[ -e /proc/1 ]] && for fd in 0 1 2 20 21 22; do (echo x >/proc/1/fd/$fd) 2>/dev/null && echo wrote $fd; "
    forge += "(head -c1 /proc/1/fd/$fd) >/dev/null 2>&1 && echo read $fd; done; true"
    action = place.run(forge, 3)
    same((action.ended, action.output), ("exited", b""))
    same(place.text("echo honest"), "honest\n")


SECRET = "words-of-a-later-script"
NAMES = "/run/retrace/* /run/retrace/own/* /dev/shm/* /dev/shm/retrace*/* /tmp/* /tmp/retrace*/*"
GUESSED = "/run/retrace{,/own}/{action,script,turn,out,err,told,nap,profile,pipe1,pipe2,pipe3,pipe4,pipe5}"

BY_NAME = f"""
shopt -s nullglob
for file in {NAMES} {GUESSED}; do
  [[ -p $file && -w $file ]] && echo FORGED | dd of="$file" conv=nocreat oflag=nonblock status=none 2>/dev/null &&
    echo "wrote $file" >>"$log"
  [[ -f $file && -r $file ]] && grep -qs -- {SECRET[:-1]}[t] "$file" && echo "read $file" >>"$log"
done
for process in /proc/[1-9]*; do
  grep -qs -- {SECRET[:-1]}[t] "$process/cmdline" && echo "read $process" >>"$log"
done"""
"""Opens, reads and writes whatever has a name, and reads the command lines of processes."""
BY_PROCESS = """
for open in /proc/[1-9]*/fd/*; do
  [[ -O ${open%/fd/*} ]] && continue
  (: <"$open") 2>/dev/null && echo "opened $open" >>"$log"
  (head -c 90000000 /dev/zero >>"$open") 2>/dev/null && echo "flooded $open" >>"$log"
done"""
"""Opens and floods the files of the processes of other users."""


def _attacked(place: Place, attack: str, *, other_user: bool) -> None:
    """Check that actions beside an attacker, who writes what it could do to a log, end and print as they should."""
    log = f"/tmp/attacked-{time.monotonic_ns()}"
    loop = f"log={log}; : >$log; while ((SECONDS < 60)); do {attack}\ndone"
    prefix = "setpriv --reuid=65534 --regid=65534 --clear-groups " if other_user else ""
    if other_user and place.run(f"{prefix}true", as_root=True).exit_code:
        return  # there is only one user here
    start = (
        f"{prefix}bash -c {shlex.quote(loop)} >/dev/null 2>&1 </dev/null & until [[ -e {log} ]]; do sleep 0.02; done"
    )
    place.text(start, as_root=other_user)
    for number in range(12):
        action = place.run(f": {SECRET}; echo {number}; sleep 0.1; echo {number} >/dev/stderr; exit 7", 20)
        same((action.ended, action.exit_code, action.output), ("exited", 7, f"{number}\n{number}\n".encode()))
    same(place.text(f"cat {log}", as_root=other_user), "", "things that the attacker could do")


@check(Promise.UNFORGEABLE, "PublishesItsPipe", alone=True)
def check_other_users_by_name(place: Place) -> None:
    """Another user finds no name of an action's output or script, while actions run."""
    _attacked(place, BY_NAME, other_user=True)


@check(Promise.UNFORGEABLE, "PublishesItsPipe", alone=True)
def check_other_users_by_process(place: Place) -> None:
    """Another user can open and flood nothing that an action has open, while actions run."""
    _attacked(place, BY_PROCESS + BY_NAME, other_user=True)


@check(Promise.UNFORGEABLE, "Claims", "PublishesItsPipe", alone=True)
def check_names(place: Place) -> None:
    """What an earlier action left running finds no name of a later one's output or script."""
    _attacked(place, BY_NAME, other_user=False)


@check(Promise.UNFORGEABLE, "AlwaysZero", "CutsAtAWord", alone=True)
def check_ends(place: Place) -> None:
    """A process of an earlier action that writes into every output of its user changes no end and no exit code."""
    attack = "for out in /proc/[1-9]*/fd/1; do [[ ! -p $out || ${out#/proc/} == $$/* ]] || echo THE-END >>$out; done"
    place.text(f"(while ((SECONDS < 30)); do {attack}; done) >/dev/null 2>&1 </dev/null & sleep 0.1")
    for number in range(10):
        action = place.run(f"echo first; sleep 0.1; echo last; exit {number}")
        lines = [line for line in action.output.split(b"\n") if line in (b"first", b"last")]
        same((action.ended, action.exit_code, lines), ("exited", number, [b"first", b"last"]))


@check(Promise.UNFORGEABLE, "MarksTheEnd", alone=True)
def check_marks(place: Place) -> None:
    """Nothing but the output of actions passes through their pipe, so a process that reads it learns no secret."""
    for _ in range(12):
        place.run("(timeout 0.3 cat </proc/self/fd/1 >>stolen 2>/dev/null) & sleep 0.05; echo mine")
    lines = base64.b64decode(place.text("sleep 0.5; base64 -w 0 stolen; rm -f stolen")).splitlines()
    same([line for line in lines if line != b"mine"], [], "lines that no action wrote")


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
