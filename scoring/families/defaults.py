"""Tasks with tiers, and the profile, that a benchmark has if the caller names no others."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from scoring.agentmeter.profiles import AGENTMETER, Profile, load
from scoring.choices import Tier
from scoring.families import programbench_tasks

PROGRAMBENCH = "programbench"
"""Name of the profile that is made from published costs of ProgramBench's tasks (`scripts/programbench-profile`)."""
PROGRAMBENCH_FILE = Path(__file__).with_name("programbench_profile.json")
BUILT_IN = (AGENTMETER.name, PROGRAMBENCH)
"""Names of the profiles that are part of Retrace."""


def published_tiers(benchmark: str) -> Mapping[str, Tier]:
    """Return the tiers of all tasks that a benchmark published, by task; empty if we have no such list."""
    if benchmark != programbench_tasks.BENCHMARK:
        return {}
    return {f"{benchmark}/{id}": tier for id, tier in programbench_tasks.published_tiers().items()}


def profile_of(benchmark: str) -> Profile:
    """Return the profile that a benchmark is scored with if the caller names none."""
    own = benchmark in (programbench_tasks.BENCHMARK, programbench_tasks.OWN)
    return built_in(PROGRAMBENCH if own else AGENTMETER.name)


@cache
def built_in(name: str) -> Profile:
    """Return a profile of `BUILT_IN`.

    Raises: KeyError.
    """
    if name == PROGRAMBENCH:
        return load(PROGRAMBENCH_FILE)
    return {AGENTMETER.name: AGENTMETER}[name]
