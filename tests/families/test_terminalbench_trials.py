"""Whole trials of the sample tasks of LongCLI-Bench and terminal-bench, by the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.demo_images import demo_image
from tests.families.terminalbench_samples import BASES, LONGCLI, TERMINAL_BENCH
from tests.solve.chains import folders, messages
from tests.solve.command import agent, script
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionFinished

pytestmark = pytest.mark.docker


def options(task: Path, model: str) -> tuple[str, ...]:
    """Return the options of a trial whose image starts from the demos' workbench."""
    mapped = [argument for base in BASES for argument in ("--base-image", f"{base}={demo_image('ledger')}")]
    return ("--task", str(task), "--model", model, "--json", *mapped)


@pytest.mark.parametrize("task", [LONGCLI / "tally", TERMINAL_BENCH / "own-command"], ids=["longcli", "terminal-bench"])
def test_the_oracle_runs_from_end_to_end(task: Path, tmp_path: Path) -> None:
    solved = agent(tmp_path, "solve", *options(task, "oracle"))
    assert solved.status == 0, solved.err
    assert (solved.json["exit"]["cause"], solved.json["verdict"]["passed"]) == ("submitted", True), solved.err
    assert agent(tmp_path, "show", str(solved.trial), "--check").status == 0


def test_a_model_that_does_nothing_fails_from_end_to_end(tmp_path: Path) -> None:
    untouched = agent(tmp_path, "solve", *options(TERMINAL_BENCH / "own-command", "nop"))
    assert (untouched.status, untouched.json["verdict"]["passed"]) == (0, False), untouched.err


LOOK = (
    "ls -d /tests /oracle /app/test_output /app/tally/grade.sh /tmp/grade.txt 2>/dev/null\n"
    "if [ -d /feedback/turn-1 ]; then ls /feedback/turn-1\n"
    "printf '#!/bin/bash\\ncase $1 in -w) wc -w <$2;; -c) wc -c <$2;; -l) wc -L <$2;; *) wc -l <$1;; esac\\n' "
    ">/app/tally/tally.sh; fi"
)


def test_a_turn_gets_the_outputs_of_the_turn_before_and_nothing_else_of_the_tests(tmp_path: Path) -> None:
    chain = agent(tmp_path, "solve", *options(LONGCLI / "tally", script(tmp_path, LOOK, SUBMIT)), "--self-correct", "2")
    assert chain.status == 0, chain.err
    first, second = folders(chain)
    outputs = [
        next(event.output.text.split() for event in read_events(turn) if isinstance(event, ActionFinished))
        for turn in (first, second)
    ]
    assert outputs == [[], ["f2p_output.txt", "p2p_output.txt"]]
    (feedback,) = messages(second, "feedback")
    assert "/feedback/turn-1/f2p_output.txt" in feedback
    assert "Score" not in feedback
    metrics = [trial["verdict"]["metrics"] for trial in chain.json["trials"]]
    assert [values["f2p_pass"] for values in metrics] == [0, 1]
    assert [trial["verdict"]["passed"] for trial in chain.json["trials"]] == [False, True]


HALF = "printf '#!/bin/sh\\ndate +%%Y-%%m-%%d\\n' >/usr/local/bin/today"
OTHER_HALF = "chmod 755 /usr/local/bin/today; echo TODAY=1 >>/etc/environment"


@pytest.mark.slow
def test_a_fork_and_an_evaluation_of_an_isolated_trial_are_isolated_too(tmp_path: Path) -> None:
    task = options(TERMINAL_BENCH / "own-command", script(tmp_path, HALF, SUBMIT))
    parent = agent(tmp_path, "solve", *task, "--isolated-verifier")
    assert (parent.status, parent.json["verdict"]["passed"]) == (0, False), parent.err
    (tmp_path / "fork").mkdir()
    model = script(tmp_path / "fork", "true", "true", OTHER_HALF, SUBMIT)  # the first two are the parent's
    child = agent(tmp_path, "fork", str(parent.trial), "--at", "2", "--model", model, "--json")
    again = agent(tmp_path, "evaluate", str(child.trial), "--json")
    assert child.json["verdict"]["passed"] is again.json["verdict"]["passed"] is True, child.err
    for result in (parent, child, again):
        verdict = result.json["verdict"]
        assert (verdict["submission"], verdict["comparable"], verdict["processes_kept"]) == ("image", False, False)


@pytest.mark.slow
def test_a_later_turn_goes_on_in_the_system_of_the_turn_before(tmp_path: Path) -> None:
    commands = f"if [ -e /usr/local/bin/today ]; then {OTHER_HALF}; else {HALF}; fi; ls -d /tests"
    model = script(tmp_path, commands, SUBMIT)
    chain = agent(tmp_path, "solve", *options(TERMINAL_BENCH / "own-command", model), "--self-correct", "2")
    assert chain.status == 0, chain.err
    assert [trial["verdict"]["passed"] for trial in chain.json["trials"]] == [False, True]
    outputs = [
        next(event.output.text for event in read_events(turn) if isinstance(event, ActionFinished))
        for turn in folders(chain)
    ]
    assert all("No such file" in output for output in outputs)  # the tests of a turn are not in its commit
