"""Fit the profile `programbench` to the published costs of submissions to ProgramBench's leaderboard.

Each submission is a folder `<date>_<system>` with a `cost.json`: US dollars by instance, as `_stats/cost.json` in
https://github.com/ProgramBench/submissions (MIT).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from scoring.agentmeter.profiles import Profile, fit, store
from scoring.errors import ScoringError
from scoring.families.defaults import PROGRAMBENCH, PROGRAMBENCH_FILE, published_tiers
from scoring.families.programbench_tasks import BENCHMARK
from scoring.rows import TrialRow

SOURCE = (
    "costs of {count} submissions to ProgramBench from {first} to {last}, from github.com/ProgramBench/submissions "
    "(MIT), in US dollars as each submission computed them; budgets are the P10, P25, P50, P75 and P90 of a tier's "
    "costs, and thresholds the P90, because the files hold no results"
)


def profile_of(submissions: Sequence[Path]) -> Profile:
    """Return the profile that is fitted to the costs of these submissions.

    Raises: ScoringError; OSError or ValueError for a `cost.json` that cannot be read.
    """
    names = sorted(path.name for path in submissions)
    source = SOURCE.format(count=len(names), first=_date(names[0]), last=_date(names[-1]))
    rows = [row for path in submissions for row in _rows(path)]
    fitted = fit(rows, published_tiers(BENCHMARK), name=PROGRAMBENCH, source=source)
    return fitted.model_copy(update={"submissions": tuple(names), "notes": ()})


def latest(statistics: Path) -> list[Path]:
    """Return the submissions in a folder. Of a system that was submitted again, only the latest one counts."""
    by_system = {path.parent.name.partition("_")[2]: path.parent for path in sorted(statistics.glob("*/cost.json"))}
    return sorted(by_system.values())


def _rows(submission: Path) -> Iterator[TrialRow]:
    """Yield a row for each instance. Without a verdict it counts as failed, so thresholds are over all costs."""
    costs: dict[str, float] = json.loads((submission / "cost.json").read_text(encoding="utf-8"))
    for instance, usd in costs.items():
        name = f"{submission.name}/{instance}"
        yield TrialRow(
            trial=name,
            directory=name,
            benchmark=BENCHMARK,
            task=f"{BENCHMARK}/{instance}",
            model=submission.name,
            label=submission.name,
            setup=submission.name,
            configuration=name,
            identity=name,
            cost_usd=usd,
        )


def _date(name: str) -> str:
    return datetime.strptime(name.partition("_")[0], "%Y%m%d").date().isoformat()


def main(arguments: Sequence[str]) -> int:
    """Write the profile, and print its budgets; return the exit status."""
    if len(arguments) != 1 or not (submissions := latest(Path(arguments[0]))):
        print(
            "usage: scripts/programbench-profile STATISTICS (a folder of submissions with cost.json)", file=sys.stderr
        )
        return 2
    try:
        profile = profile_of(submissions)
        PROGRAMBENCH_FILE.unlink(missing_ok=True)
        store(profile, PROGRAMBENCH_FILE)
    except (OSError, ValueError, ScoringError) as error:
        print(f"scripts/programbench-profile: {error}", file=sys.stderr)
        return 1
    for tier, budgets in profile.tiers.items():
        print(f"{tier:6}  budgets {budgets.grid_usd}, expensive failure above {budgets.expensive_failure_usd}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
