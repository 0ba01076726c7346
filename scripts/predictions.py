"""Precision and recall of `agent doctor TRIAL`, measured with the reports of replays.

An action differs if its replay has any divergence from the record, noise included: the prediction is that it will not
be identical. A submission is not an action. `trial` in a report is relative to the directory of the report.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from trajectories.comparison.repeatability import CAUSES, report


@dataclass(frozen=True)
class Score:
    """Numbers of actions."""

    actions: int
    differ: int
    predicted: int
    right: int

    def __add__(self, other: Score) -> Score:
        return Score(
            self.actions + other.actions,
            self.differ + other.differ,
            self.predicted + other.predicted,
            self.right + other.right,
        )

    def __str__(self) -> str:
        precision, recall = (
            "-" if whole == 0 else f"{100 * self.right / whole:.0f} %" for whole in (self.predicted, self.differ)
        )
        return (
            f"{self.actions} actions, {self.differ} differ, {self.predicted} predicted, {self.right} of them right: "
            f"precision {precision}, recall {recall}"
        )


def score(path: Path, without: frozenset[str]) -> Score:
    """Return the score of one replay."""
    replay = json.loads(path.read_text())
    findings = report(path.parent / replay["trial"]).findings
    differ = {entry["action"] for entry in replay["divergences"] if not entry["class"].startswith("submission")}
    predicted = {finding.action for finding in findings if finding.predicted and finding.cause not in without}
    predicted -= set(replay["not_replayed"])
    return Score(replay["actions"], len(differ), len(predicted), len(differ & predicted))


def main() -> None:
    """Print the score of each replay, and of all."""
    parser = argparse.ArgumentParser(prog="scripts/predictions", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("report", nargs="+", type=Path, help="output of agent replay TRIAL --json")
    parser.add_argument("--without", action="append", default=[], choices=CAUSES, help="cause that does not count")
    arguments = parser.parse_args()
    total = Score(0, 0, 0, 0)
    for path in arguments.report:
        part = score(path, frozenset(arguments.without))
        print(f"{path.name}: {part}")
        total += part
    print(f"all: {total}")


if __name__ == "__main__":
    main()
