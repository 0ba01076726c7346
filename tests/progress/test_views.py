"""The choice of a view, and the live view on a real terminal, alone and in a real trial."""

from __future__ import annotations

import os
import re
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pexpect
import pytest

from agent.cli.progress import progress_of_evaluation
from agent.cli.progress.lines import LineView
from agent.cli.progress.live import LiveView
from agent.cli.progress.state import ProgressState
from tests.progress.terminal import Terminal
from tests.solve.command import AGENT, environment, script
from trajectories.record.events import Limits, Warned

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
HOSTILE = "printf '\\033[2J\\033]0;title\\007' # \x1b[31mred\x1b[2J 日本語"


@contextmanager
def terminal(rows: int = 24, columns: int = 80) -> Iterator[tuple[TextIO, Callable[[], str]]]:
    """Yield a stream that is a terminal, and a function that returns what was written to it."""
    master, slave = os.openpty()
    termios.tcsetwinsize(slave, (rows, columns))
    received: list[bytes] = []

    def read() -> None:
        try:
            while data := os.read(master, 65536):
                received.append(data)
        except OSError:
            pass  # the other end was closed

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    stream = os.fdopen(slave, "w")
    try:
        yield stream, lambda: b"".join(received).decode()
    finally:
        stream.close()
        reader.join(10)
        os.close(master)


@pytest.mark.parametrize(
    ("variable", "view", "colored"),
    [
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, LiveView, True),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, LiveView, False),
        ({"TERM": "dumb"}, LineView, False),
        ({"TERM": ""}, LineView, False),
    ],
)
def test_the_view_suits_the_terminal(
    monkeypatch: pytest.MonkeyPatch, variable: dict[str, str], view: type, colored: bool
) -> None:
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variable.items():
        monkeypatch.setenv(name, value)
    with terminal() as (stream, output):
        monkeypatch.setattr(sys, "stderr", stream)
        with progress_of_evaluation("trial-1", quiet=False) as shown:
            assert isinstance(shown, view)
            shown.feed(Warned(kind="x", text="beware"))
            wait_until(lambda: "beware" in output())
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]", output())) is colored
        if view is LineView:
            assert "\x1b" not in output()
    monkeypatch.undo()


def test_without_a_terminal_there_are_plain_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_of_evaluation("trial-1", quiet=False) as shown:
        shown.note("suite: 13 of 60 tests\x1b[2J")
    assert capsys.readouterr().err == "suite: 13 of 60 tests␛[2J\n"


def test_other_writers_appear_above_the_lines_and_everything_is_removed_at_the_end() -> None:
    screen = Terminal(80)
    with terminal() as (stream, output):
        view = LiveView(ProgressState("a title", Limits()), stream)
        with view:
            wait_until(lambda: "a title" in output())
            print("a library's warning \x1b[2J", file=sys.stderr)
            wait_until(lambda: "warning" in output())
            sys.stderr.write("without an end of line")
        wait_until(lambda: "end of line" in output())
        screen.feed(output())
    assert screen.text == "a library's warning ␛[2J\nwithout an end of line"


def test_a_terminal_that_goes_away_does_not_end_anything() -> None:
    with terminal() as (stream, output):
        with LiveView(ProgressState("a title", Limits()), stream) as view:
            wait_until(lambda: "a title" in output())
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())  # no terminal any more
            os.close(null)
            wait_until(lambda: not view.is_drawing)
            view.note("nobody reads this")
        assert sys.stderr is not view


def test_a_trial_on_a_terminal_is_shown_live_and_leaves_it_clean(tmp_path: Path) -> None:
    turns = [{"text": "I look \x1b[2Jaround.", "commands": [HOSTILE]}, "sleep 2.5", SUBMIT]
    child = solve(tmp_path, *turns)
    child.expect("waiting|running")
    child.expect("sleep 2.5")
    child.setwinsize(10, 40)
    child.expect(r"2 of 180 s")
    child.expect(pexpect.EOF)
    output = child.logfile_read.getvalue()
    child.close()
    assert child.exitstatus == 0, output
    assert "I look ␛[2Jaround." in output
    assert "␛]0;title" not in output  # the command's own output is not shown
    assert "\\033]0;title" in output
    for sequence in ("\x1b[2J", "\x1b]", "\x1b[?25l", "\x1b[?1049h", "\x1b[31mred"):
        assert sequence not in output
    last = output.rindex("\x1b[?7h")
    assert "\x1b[?7l" not in output[last:]
    rest = Terminal(200)
    rest.feed(output[output.rindex("\x1b[J") :])
    assert rest.text.startswith("trial")
    assert "submitted" in rest.text


def test_ctrl_c_on_a_terminal_removes_the_view(tmp_path: Path) -> None:
    child = solve(tmp_path, "sleep 100", SUBMIT)
    child.expect(r"1 of 180 s")
    child.sendintr()
    child.expect(pexpect.EOF)
    output = child.logfile_read.getvalue()
    child.close()
    assert child.exitstatus == 130, output
    rest = Terminal(200)
    rest.feed(output[output.rindex("\x1b[J") :])
    assert rest.text.startswith("trial")
    assert "sleep 100" not in rest.text
    assert "agent resume" in rest.text


def solve(folder: Path, *turns: object) -> pexpect.spawn[str]:
    """Begin a trial on a terminal."""
    (folder / "start").mkdir()
    variables = environment(folder, TERM="xterm-256color", COLUMNS="")
    del variables["COLUMNS"]
    argv = [*AGENT[1:], "solve", "--instruction", "x y", "--workspace", "start", "--env", "local"]
    child = pexpect.spawn(
        AGENT[0],
        [*argv, "--model", script(folder, *turns)],
        cwd=str(folder),
        env=variables,
        dimensions=(24, 80),
        encoding="utf-8",
        timeout=60,
    )
    child.logfile_read = Written()
    return child


class Written:
    """Everything that a terminal received."""

    def __init__(self) -> None:
        self._text: list[str] = []

    def write(self, text: str) -> None:
        self._text.append(text)

    def flush(self) -> None:
        pass

    def getvalue(self) -> str:
        return "".join(self._text)


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
