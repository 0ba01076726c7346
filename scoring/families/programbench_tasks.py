"""The 200 tasks of ProgramBench with their published tiers, and instances that are not among them.

Light: `agent tasks list` imports it.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from scoring.choices import Tier
from scoring.errors import ScoringError

BENCHMARK = "programbench"
OWN = "programbench-own"
"""Benchmark, in scores, of instances that are not among the 200: the user's own, and the package's test fixture."""
_FILE = Path(__file__).with_name("programbench_tiers.csv")


@cache
def published_tiers() -> Mapping[str, Tier]:
    """Return the tier of each of the 200 instances, by id."""
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return MappingProxyType({row["id"]: _tier(row["tier"]) for row in rows})


def is_published(task: str) -> bool:
    """Return True for the id of a task (`programbench/ID`) that is one of the 200."""
    benchmark, _, instance = task.partition("/")
    return benchmark == BENCHMARK and instance in published_tiers()


def scored_benchmark(benchmark: str, task: str) -> str:
    """Return the benchmark in whose score a trial belongs, which for instances that are not among the 200 is `OWN`."""
    return OWN if benchmark == BENCHMARK and not is_published(task) else benchmark


def _tier(word: str) -> Tier:
    match word:
        case "easy" | "medium" | "hard":
            return word
    raise ScoringError(f"{_FILE}: unknown tier {word!r}")
