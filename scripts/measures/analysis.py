"""Measures of analysis: processor time to read a command, to apply every integrity rule to it, and to check a plan."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent.guidance.no_code import check
from scripts.measures.figures import Figure
from trajectories.analysis.commands.classes import classify
from trajectories.analysis.commands.shell import items, parseable
from trajectories.analysis.extras import grammar, load
from trajectories.analysis.integrity import scan
from trajectories.reading.reader import read_events
from trajectories.record.events import ActionStarted

_PLAN = (
    "1. Read the lines, `parse(line)` for each; keep the order (ties: by name).",
    "- the option --month=YYYY-MM filters; without it, everything is printed",
    "The function total(entries) should return cents = integers, never floats; see README.md.",
    "Then test: empty file, one line, blank lines & comments.",
)
_RECORDINGS = Path("docs/recordings")


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    trials = {path.parent: list(read_events(path.parent)) for path in sorted(_RECORDINGS.glob("*/events.jsonl"))}
    scripts = [event.command for events in trials.values() for event in events if isinstance(event, ActionStarted)]
    parser = load("tree_sitter", "measuring").Parser(grammar("tree_sitter_bash", "measuring"))
    sources = [parseable(script) for script in scripts]
    parse, read, sort, apply = (
        _seconds(action) / len(scripts)
        for action in (
            lambda: [parser.parse(source).root_node.has_error for source in sources],
            lambda: [items(script) for script in scripts],
            lambda: [classify(script) for script in scripts],
            lambda: [scan(directory, events) for directory, events in trials.items()],
        )
    )
    detail = f"{len(scripts)} commands of the recordings in the docs; least of 15 runs; processor time"
    yield Figure("reading a command over parsing it", read / parse, "", 8, f"{read * 1e6:.0f} us; {detail}")
    yield Figure("every integrity rule over parsing it", apply / parse, "", 25, f"{apply * 1e6:.0f} us")
    yield Figure("its class over parsing it", sort / parse, "", 10, f"{sort * 1e6:.0f} us")
    plan = "\n".join(_PLAN[number % len(_PLAN)] for number in range(10_000))[:10_000]
    soup = ("( a { b [ c < d = e " * 40 + "\n") * 13
    for title, text in (("a plan of 10 kB", plan), ("10 kB of symbols that parse in no language", soup[:10_000])):
        seconds = _seconds(lambda text=text: check(text, language=None), runs=3)  # type: ignore[misc]
        yield Figure(f"the rule no-code on {title}", seconds, "s", 0.3, "parsed in all languages; processor time")


def _seconds(action: Callable[[], object], runs: int = 15) -> float:
    """Return the least processor time of several runs."""
    times: list[float] = []
    for _ in range(runs):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)
