"""A small task for chains of turns, and chains in which each turn does a part of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from agent.continuation.chain import Results, chain_of, resume_chain
from agent.trial.order import Order
from tests.solve.command import CommandResult, agent, script
from trajectories.reading.reader import read_events
from trajectories.record.events import Event, Feedback, Message
from trajectories.writing.recorder import Observer

SUITE = """
def test_one(workspace):
    assert (workspace / 'one').read_text() == '1'

def test_two(workspace):
    assert (workspace / 'two').read_text() == '2'
"""

A_PART = """\
case $(ls /feedback 2>/dev/null | wc -l) in
0) printf 1 >one ;;
1) printf 2 >two ;;
esac
ls /feedback 2>/dev/null; echo turn >>log; wc -l <log"""
"""A command that solves one half in the turn without feedback, and the other half in the turn after it."""


def make_task(
    folder: Path, kinds: str = "sandbox, local", settings: str = "", evaluation: str = "", suite_first: str = ""
) -> None:
    """Write the task `mine`, which two files solve."""
    task = folder / "mine"
    (task / "tests").mkdir(parents=True)
    (task / "tests" / "test_it.py").write_text(suite_first + SUITE)
    (task / "instruction.md").write_text("Do it.")
    (task / "task.yaml").write_text(
        f"title: T\nkind: test\nenvironments: [{kinds}]\n{settings}"
        f"evaluation: {{cases: 2, program: ['true']{evaluation}}}\n"
    )


def solve(work: Path, *turns: object, options: Sequence[str] = (), env: str = "sandbox") -> CommandResult:
    """Run a chain of three turns of a script."""
    argv = ["--task", "mine", "--env", env, "--self-correct", "3", "--json", *options]
    return agent(work, "solve", *argv, "--model", script(work, *turns))


def folders(result: CommandResult) -> list[Path]:
    """Return the folders of the turns that a command's JSON names."""
    return [result.folder / trial["trial"] for trial in result.json["trials"]]


def passed(result: CommandResult) -> list[int]:
    """Return the number of tests that passed after each turn."""
    return [sum(group["passed"] for group in t["verdict"]["groups"].values()) for t in result.json["trials"]]


def feedback(trial: Path) -> list[Feedback]:
    return [event for event in read_events(trial) if isinstance(event, Feedback)]


def messages(trial: Path, why: str) -> list[str]:
    """Return the messages of a trial with this reason."""
    return [event.content for event in read_events(trial) if isinstance(event, Message) and event.why == why]


@contextmanager
def unwatched(order: Order, before: Sequence[Event], part: str) -> Iterator[Observer | None]:
    """Show nothing."""
    yield None


def resume(trial: Path) -> tuple[Results, list[str]]:
    """Continue a chain as `agent resume` does; return the turns that were worked on, and the lines that were said."""
    results: Results = []
    lines: list[str] = []
    chain = chain_of(trial)
    assert chain is not None
    resume_chain(*chain, unwatched, results, lines.append)
    return results, lines
