"""The persistent shell: state that persists, processes that end with an action, and commands that must not block it."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from environments.link import Link
from environments.promises import Promise
from environments.protocol import Spooled
from tests.pace import plain_process_s
from trajectories import interrupts

from .conftest import ALL, Place, environment

FULL_SCREEN = (
    r"""perl -e 'open T,"+<","/dev/tty" or die; system "stty raw -echo </dev/tty"; """
    r"""syswrite T,"\e[?1049hMENU"; sysread T,$x,1'"""
)


@pytest.fixture(scope="module", params=ALL)
def shell(request: pytest.FixtureRequest) -> Iterator[Place]:
    made = environment(request.param, shell="persistent")
    try:
        yield Place(made, made.start(), request.param)
    finally:
        made.stop()


def kept(place: Place, script: str, **options: object) -> bytes:
    action = place.run(script, **options)  # type: ignore[arg-type]
    assert (action.ended, action.shell_lost) == ("exited", None), action
    return action.output


def test_a_persistent_shell_is_promised_and_its_costs_are_reported(shell: Place) -> None:
    assert Promise.PERSISTENT_SHELL in shell.started.promises
    assert not {Promise.UNFORGEABLE, Promise.FRESH_SHELL} & set(shell.started.promises)
    assert any("forge" in lost for lost in shell.started.lost)


def test_state_persists(shell: Place) -> None:
    assert (
        kept(
            shell, "mkdir -p deep && cd deep && a=1; export b=2; f() { echo f$1; }; shopt -s extglob; alias x='echo al'"
        )
        == b""
    )
    assert kept(shell, "echo $a; bash -c 'echo $b'; f 3; basename $PWD; x") == b"1\n2\nf3\ndeep\nal\n"
    assert kept(shell, "cd ..; unset -f f") == b""


def test_an_action_with_a_directory_or_variables_has_its_own_shell(shell: Place) -> None:
    kept(shell, "mine=1; cd /")
    assert shell.text("echo ${mine-none} $PWD", cwd=".").split() == ["none", shell.started.workdir]
    assert shell.text("echo ${mine-none} $v", env={"v": "w"}) == "none w\n"
    assert kept(shell, "echo $mine $PWD; cd - >/dev/null") == b"1 /\n"


@pytest.mark.parametrize(
    "script",
    [
        "read x; echo done",
        "cat; echo done",
        "bash; sh -i; echo done",
        "less /etc/passwd >/dev/null; head -1 /etc/passwd >/dev/null; echo done",
        "PS1='(venv) $ '; PS2='more '; PROMPT_COMMAND='echo noise'; echo done",
        "set -x; set -v; echo done; set +xv",
        "exec >/dev/null; exec 3<&-; echo lost; echo done >/dev/tty",
        "stty raw echo </dev/tty; echo done",
        "trap 'echo trapped' DEBUG; trap - DEBUG; echo done",
    ],
)
def test_no_command_that_waits_for_input_blocks_the_shell(shell: Place, script: str) -> None:
    action = shell.run(script, deadline_s=30)
    assert action.ended == "exited", action
    assert b"done\n" in action.output, action
    assert b"noise" not in action.output.replace(b"'echo noise'", b"")
    assert kept(shell, "echo next").endswith(b"next\n")


@pytest.mark.parametrize("waits", ["less /etc/passwd </dev/tty >/dev/tty", "read x </dev/tty", FULL_SCREEN])
def test_a_command_that_waits_at_the_terminal_is_ended_and_the_state_kept(shell: Place, waits: str) -> None:
    kept(shell, "state=here")
    action = shell.run(f"echo before; {waits}; sleep 100", deadline_s=0.4)
    assert action.ended == "deadline", action
    assert action.output.startswith(b"before\n")
    assert action.shell_lost is None
    assert kept(shell, "echo $state") == b"here\n"


def test_output_of_a_program_to_the_terminal_is_shown(shell: Place) -> None:
    assert kept(shell, "echo out; echo Password: >/dev/tty") == b"out\nPassword:\n"


@pytest.mark.parametrize(
    ("script", "lost"),
    [
        ("{sleep} 1000", False),
        ("while sleep 0.01; do {sleep} 1000; done", False),
        ("setsid {sleep} 1000 & {sleep} 1000 & nohup {sleep} 1000", False),
        ("bash -c \"trap '' INT TERM HUP; {sleep} 1000; {sleep} 1000\"", False),
        ("while :; do :; done", False),
        ("(trap '' INT TERM; {sleep} 1000); true", False),
        ("trap '' INT TERM; while :; do :; done; {sleep} 1000", True),
        ("kill -STOP $$", True),
    ],
)
def test_a_deadline_ends_the_processes_of_the_action(shell: Place, script: str, lost: bool) -> None:
    began = time.monotonic()
    assert shell.run("sleep 1000", deadline_s=0.3).ended == "deadline"
    kept(shell, "true")
    plain_s = time.monotonic() - began
    assert ended_after_s(shell, script, lost) < 10 * plain_s, "it takes much longer to end than a plain sleep"


def ended_after_s(shell: Place, script: str, lost: bool) -> float:
    """Return the seconds from the beginning of an action with a deadline of 0.3 s to the end of the next one."""
    sleep = f"wedge-{abs(hash(script)) % 10**6}"
    kept(
        shell,
        f"cp $(type -P sleep) {sleep}; PATH=$PATH:$PWD; "
        "(while sleep 0.05; do date +%s%N >beat.new; mv beat.new beat; done) & echo $! >beating",
    )
    began = time.monotonic()
    action = shell.run("state=here; echo partial; " + script.replace("{sleep}", sleep), deadline_s=0.3)
    again = shell.run(
        f"echo ${{state-gone}}; grep -l '[w]{sleep[1:]}' /proc/[0-9]*/cmdline 2>/dev/null; rm -f {sleep}; true"
    )
    took_s = time.monotonic() - began
    try:
        if "STOP" not in script:
            assert action.ended == "deadline", action
            assert action.output.startswith(b"partial\n")
        assert bool(action.shell_lost) == lost, action
        assert again.output == (b"gone\n" if lost else b"here\n"), again
        beat = kept(shell, "cat beat")
        changed = 'for i in {1..50}; do sleep 0.1; [ "$(cat beat)" = "$was" ] || exit 0; done; exit 1'
        assert shell.run(f"(was={beat.decode().strip()}; {changed})").exit_code == 0  # earlier processes keep running
    finally:
        shell.run("kill $(cat beating); rm -f beat beat.new beating; unset state")
    return took_s


@pytest.mark.parametrize(
    ("script", "code"), [("exit 3", 3), ("exec false", 1), ("set -e; false; echo no", 1), ("kill -9 $$", 137)]
)
def test_a_shell_that_ended_is_reported_and_replaced(shell: Place, script: str, code: int) -> None:
    action = shell.run(f"cd /; v=1; echo x; {script}")
    assert (action.ended, action.exit_code, action.output) == ("exited", code, b"x\n")
    assert action.shell_lost
    assert kept(shell, "echo ${v-none} $PWD").decode().split() == ["none", shell.started.workdir]


def test_every_command_runs_however_many_shells_have_ended(shell: Place) -> None:
    """After nine shells that ended at once, the next exit code was 129 although the command had not run."""
    codes = [shell.run(f"touch ran-{code}; exit {code}").exit_code for code in range(1, 13)]
    assert codes == list(range(1, 13))
    assert len(kept(shell, "ls ran-*; rm ran-*").split()) == 12


def test_a_shell_that_became_another_program_is_replaced_after_an_interrupt(shell: Place) -> None:
    assert shell.run("exec bash -c 'sleep 60'", deadline_s=0.5).shell_lost
    assert kept(shell, "echo ok") == b"ok\n"


def test_without_its_keeper_a_command_still_runs_and_the_loss_is_reported(shell: Place) -> None:
    keeper = shell.environment._shell._channel.ask("j", 5)[0]  # type: ignore[attr-defined]
    assert shell.run(f"kill -9 {keeper}; sleep 0.2", as_root=True).exit_code == 0
    action = shell.run("echo here")
    assert (action.ended, action.exit_code, action.output) == ("exited", 0, b"here\n")
    assert action.shell_lost
    assert kept(shell, "echo ok") == b"ok\n"


def test_scripts_of_every_shape(shell: Place) -> None:
    assert kept(shell, "cat <<'E'\na $b\nE\nfor i in 1 2\ndo echo $i\ndone") == b"a $b\n1\n2\n"
    assert kept(shell, f": {'x' * 300_000}\necho end") == b"end\n"
    for broken in ("echo 'unterminated", "if true; then", "cat <<E\nnever ends", ")"):
        assert shell.run(broken, deadline_s=5).ended == "exited"
        assert kept(shell, "echo next") == b"next\n"
    assert shell.run("(exit 7)").exit_code == 7
    assert shell.run("return 5").exit_code == 5
    assert kept(shell, "echo hi !! $(echo sub) \\\n more") == b"hi !! sub more\n"


def test_output_of_a_persistent_shell_comes_back_byte_for_byte(shell: Place) -> None:
    assert kept(shell, r"printf 'a\0\377\r\n\033[31mb\tc'") == b"a\0\xff\r\n\x1b[31mb\tc"
    action = shell.run("head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end >&2")
    assert (action.counted, action.output[-6:]) == (20_000_005, b"x\nend\n")


def test_too_much_output_ends_the_action_and_keeps_the_state(shell: Place) -> None:
    kept(shell, "state=here")
    action = shell.run("yes", output_bytes=100_000)
    assert (action.ended, len(action.output)) == ("output_cap", 100_000)
    assert kept(shell, "echo $state") == b"here\n"


def test_a_large_output_stays_in_its_file_when_the_terminal_had_something_too(shell: Place) -> None:
    action = shell.run("echo asked >/dev/tty; head -c 3000000 /dev/zero")
    assert (action.ended, len(action.output), action.counted) == ("exited", 3_000_006, 3_000_006)
    assert isinstance(action.output, Spooled)
    assert bytes(action.output)[-7:] == b"\0asked\n"


def test_the_terminal_may_be_flooded(shell: Place) -> None:
    action = shell.run("head -c 3000000 /dev/zero | tr '\\0' x >/dev/tty; echo end", deadline_s=60)
    assert (action.ended, action.output[:4]) == ("exited", b"end\n")
    assert len(action.output) < 100_000


def test_background_work_keeps_running_and_blocks_nothing(shell: Place) -> None:
    action = shell.run("(until [ -e go ]; do sleep 0.05; done; echo late) & echo now; echo $! >pid")
    assert (action.output, action.left_running is not None and action.left_running > 0) == (b"now\n", True), action
    assert int(kept(shell, "cat pid")) in action.left_pids
    assert kept(shell, "touch go; wait; rm go; jobs; echo end").endswith(b"end\n")
    assert shell.run("true").left_running == 0


def test_two_hundred_actions(shell: Place) -> None:
    times, plain = [], []
    for i in range(200):
        plain.append(plain_process_s())
        began = time.monotonic()
        assert kept(shell, f"n={i}; echo $n") == f"{i}\n".encode()
        times.append(time.monotonic() - began)
    assert statistics.median(times) < 50 * statistics.median(plain)


def test_an_interrupt_leaves_a_usable_shell(shell: Place) -> None:
    kept(shell, "state=here")
    previous = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            shell.run("sleep 100.1", deadline_s=100)
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert kept(shell, "echo $state; grep -l '[s]leep.100.1' /proc/[0-9]*/cmdline 2>/dev/null; true") == b"here\n"


@pytest.fixture
def signals_as_they_were() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("signals_as_they_were")
def test_an_interrupt_at_any_moment_keeps_the_state_or_reports_its_loss(shell: Place) -> None:
    thread = threading.get_ident()
    interrupts.install()
    for delay_s in (0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.01):
        assert shell.run("state=there").exit_code == 0
        timer = threading.Timer(delay_s, signal.pthread_kill, (thread, signal.SIGINT))
        with suppress(KeyboardInterrupt), interrupts.interruptible():
            timer.start()
            shell.run("sleep 5")
            pytest.fail("the interrupt was swallowed")
        timer.join()
        action = shell.run("echo ${state-lost}")
        assert (action.output == b"there\n") == (action.shell_lost is None), (delay_s, action)


class Interrupting:
    """A link on which a signal comes with the `nth` send from now on."""

    def __init__(self, link: Link, nth: int) -> None:
        self.link, self.left = link, nth

    def __getattr__(self, name: str) -> object:
        return getattr(self.link, name)

    def send(self, data: bytes | memoryview, timeout_s: float) -> None:
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        self.link.send(data, timeout_s)


@pytest.mark.usefixtures("signals_as_they_were")
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_interrupt_while_a_request_is_sent_spares_the_environment(place: Place, nth: int) -> None:
    """The interrupt waits until all parts of a request are sent; then the request counts as made."""
    interrupts.install()
    frames = place.environment._channel._frames  # type: ignore[attr-defined]
    link = frames.link
    frames.link = Interrupting(link, nth)
    try:
        with suppress(KeyboardInterrupt), interrupts.interruptible():
            while True:
                place.run("true")
    finally:
        frames.link = link
    assert place.text("echo on") == "on\n"


def test_an_export_ends_the_shell_and_a_new_one_starts(shell: Place, tmp_path: Path) -> None:
    kept(shell, "state=here; echo x >file")
    shell.environment.export(tmp_path / "w.tar.zst")
    action = shell.run("echo ${state-gone}; cat file")
    assert action.output == b"gone\nx\n"
    assert action.shell_lost
    assert kept(shell, "echo on") == b"on\n"


@pytest.mark.parametrize("label", ALL)
def test_a_killed_harness_leaves_nothing(label: str) -> None:
    name = f"orphan-{os.getpid()}-{label}"
    program = (
        "from tests.environments.conftest import environment\n"
        f"e = environment({label!r}, shell='persistent'); e.start()\n"
        f"e.execute('setsid bash -c \"exec -a {name} sleep 1000\" & sleep 0.1', deadline_s=9)\n"
        "print('up', flush=True)\n"
        f"e.execute('exec -a {name} sleep 1000', deadline_s=100)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "up\n"
    child.kill()
    child.wait()
    until = time.monotonic() + 60
    while (
        survivors := subprocess.run(["pgrep", "-f", f"^{name}"], capture_output=True).stdout
    ) and time.monotonic() < until:
        time.sleep(0.1)
    assert not survivors
