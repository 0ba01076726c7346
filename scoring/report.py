"""Everything that is said of a batch in one object: a `Report`, whose tables are lists of typed rows.

Only shapes; `scoring.score` fills them. Whatever was left out, chosen or unknown is in `counts` and `notes`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from scoring.agentmeter.ams import TierScore
from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier
from scoring.families.clitool import Line
from scoring.families.longcli import AtTurn, Main, Mode, TurnDifference
from scoring.rows import CostKind
from scoring.selection import Duplicates, Infrastructure
from scoring.statistics.diagnostics import Effort, Headline, Passed
from scoring.statistics.intervals import Estimate
from scoring.statistics.passes import Passes
from scoring.statistics.rank_correlation import Agreement

Attempts = Literal["latest", "all"]
"""Where a task has several trials, AMS, tiers and headlines take the latest completed one, or average all."""


class Row(BaseModel):
    """A line of a table."""

    model_config = ConfigDict(frozen=True)

    setup: str
    label: str


class Configuration(Row):
    """The main table: one line a configuration (harness, model, settings, prompt, variant)."""

    model: str
    harness: str
    variant: str | None
    trials: int
    tasks: int
    missing_tasks: int
    """Tasks of the benchmark (as far as they are known) without a trial that counts."""
    infrastructure: int
    unfinished: int
    unjudged: int
    passed: Passed
    ams: Estimate | None
    """None without tiers."""
    gap: float | None
    """Below the best AMS of the same model."""
    pareto: bool
    """Nobody beats its mean quality and mean cost (`scoring.statistics.pareto`); False where a cost is unknown."""


class TierRow(Row):
    """One configuration in one tier."""

    score: TierScore


class EffortRow(Row):
    """What passed and failed trials took, of one configuration in one tier."""

    effort: Effort


class PassesRow(Row):
    """pass@k and pass^k of one configuration."""

    passes: Passes


class HeadlineRow(Row):
    """Resolved, almost and mean of one configuration."""

    headline: Headline


class ModesRow(BaseModel):
    """LongCLI-Bench's modes of collaboration of one model in one harness."""

    model_config = ConfigDict(frozen=True)

    model: str
    harness: str
    mode: Mode


class LongCliRow(Row):
    """LongCLI-Bench's tables 1 to 3 of one configuration: main, attempts by F2P step, state by turn."""

    main: Main
    f2p_steps: dict[str, int]
    turns: tuple[AtTurn, ...]
    differences: tuple[TurnDifference, ...]


class SuiteRow(Row):
    """CLI-Tool-Bench's metrics of one configuration: all repositories, then by language."""

    lines: tuple[Line, ...]


class Comparison(BaseModel):
    """One configuration less another, paired by task. Intervals are not corrected for the number of comparisons."""

    model_config = ConfigDict(frozen=True)

    setup: str
    label: str
    against: str
    against_label: str
    pass_rate: Estimate
    quality: Estimate
    ams: Estimate | None


class RankingRow(BaseModel):
    """How alike two orders of the configurations are."""

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    agreement: Agreement


class Substituted(BaseModel):
    """Calls in which another model than the requested one was served, over all trials (`scoring.pricing.repricing`)."""

    model_config = ConfigDict(frozen=True)

    requested: str
    served: str
    priced_as: str | None
    trials: int
    calls: int
    computed_usd: float | None
    as_requested_usd: float | None


class Pricing(BaseModel):
    """What costs come from; the rest is known only of trials that were priced again."""

    model_config = ConfigDict(frozen=True)

    tables: tuple[str, ...] = ()
    """The snapshot that was asked for, else those that the trials record."""
    sha256: str | None = None
    """Of the one that was asked for."""
    date: str | None = None
    unpriced_models: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Rates and service tiers that it lacks, with their row."""
    unknown_usage_calls: int = 0
    substitutions: tuple[Substituted, ...] = ()


class UnreadableTrial(BaseModel):
    """A trial of a batch that is in no figure, and why."""

    model_config = ConfigDict(frozen=True)

    trial: str
    problem: str


class Counts(BaseModel):
    """Of what was given."""

    model_config = ConfigDict(frozen=True)

    given: int
    counted: int
    configurations: int
    tasks: int
    infrastructure: int
    unfinished: int
    superseded: int
    unjudged: int
    unknown_cost: int


class Report(BaseModel):
    """All tables of one benchmark, and every choice that they depend on."""

    model_config = ConfigDict(frozen=True)

    benchmark: str
    cost: CostKind | None
    """Which cost `cost_usd` is, as far as the caller said."""
    infrastructure: Infrastructure
    duplicates: Duplicates
    attempts: Attempts
    level: float
    seed: int
    replicates: int
    profile: Profile
    profile_sha256: str
    pricing: Pricing = Pricing()
    counts: Counts
    unreadable: tuple[UnreadableTrial, ...] = ()
    notes: tuple[str, ...]
    task_tiers: dict[str, Tier] = {}
    """Of every task whose tier is known."""
    configurations: tuple[Configuration, ...]
    tiers: tuple[TierRow, ...]
    effort: tuple[EffortRow, ...]
    passes: tuple[PassesRow, ...]
    headlines: tuple[HeadlineRow, ...]
    modes: tuple[ModesRow, ...]
    longcli: tuple[LongCliRow, ...]
    suites: tuple[SuiteRow, ...]
    comparisons: tuple[Comparison, ...]
    rankings: tuple[RankingRow, ...] = ()
