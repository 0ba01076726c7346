"""The report of a batch: one object whose tables are lists of typed rows.

This module has only shapes; `scoring.score` fills them. `counts` and `notes` name all that was left out, chosen or
unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from scoring.agentmeter.ams import TierScore
from scoring.agentmeter.profiles import Profile
from scoring.agentmeter.tiers import Tier
from scoring.arms.tables import ArmDifference, ArmRow
from scoring.choices import AttemptRule, CostKind, DuplicateRule, InfrastructureRule, IntegrityBy, IntegrityRule
from scoring.families.clitool import SuiteLine
from scoring.families.longcli import FirstTurns, TurnDifference, TurnState
from scoring.families.longcli_modes import Mode
from scoring.interventions.modes import InterventionsRow
from scoring.statistics.diagnostics import Effort, Headline, Passed, Total
from scoring.statistics.intervals import Estimate
from scoring.statistics.passes import Passes
from scoring.statistics.rank_correlation import Agreement

NoteKind = Literal[
    "selection",
    "shared",
    "tasks",
    "tiers",
    "profile",
    "prices",
    "infrastructure",
    "unfinished",
    "turns",
    "modes",
    "superseded",
    "arms",
    "unjudged",
    "unknown_cost",
    "no_ams",
    "no_trials",
    "few_tasks",
    "no_intervals",
    "mixed_conditions",
    "unreadable",
    "flagged",
    "revealed",
    "not_comparable",
]


@dataclass(frozen=True)
class Note:
    """A sentence that a reader needs beside the figures, and its subject. In JSON it is the sentence alone."""

    text: str
    kind: NoteKind | None = field(default=None, compare=False)
    """None for a note that was read from JSON."""


_Sentence = Annotated[
    Note,
    BeforeValidator(lambda note: Note(note) if isinstance(note, str) else note),
    PlainSerializer(lambda note: note.text, return_type=str),
]


class Row(BaseModel):
    """A line of a table, about one configuration."""

    model_config = ConfigDict(frozen=True)

    setup: str
    label: str


class Configuration(Row):
    """The main table: a line for each configuration (harness, model, settings, prompt, variant)."""

    model: str
    harness: str
    variant: str | None
    trials: int
    tasks: int
    missing_tasks: int
    """Known tasks of the benchmark without a trial that counts."""
    infrastructure: int
    unfinished: int
    unjudged: int
    flagged: int | None = None
    """Trials that are flagged for a violation, whatever `integrity` makes of them; None if none was examined."""
    passed: Passed
    plans: Total | None = None
    """Cost of the different plans that its trials were given, each counted once. None without plans. `unknown` counts
    plans."""
    expert: Total | None = None
    """Cost of the experts' calls, which is not part of the trials' own. None without experts."""
    ams: Estimate | None
    """None without tiers."""
    gap: float | None
    """Distance to the best AMS of the same model."""
    pareto: bool
    """True if no other configuration beats both its mean quality and its mean cost (`scoring.statistics.pareto`); false
    if a cost is unknown."""


class TierRow(Row):
    """One configuration in one tier."""

    score: TierScore


class EffortRow(Row):
    """Effort of passed or failed trials of one configuration in one tier."""

    effort: Effort


class PassesRow(Row):
    """pass@k and pass^k of one configuration."""

    passes: Passes


class HeadlineRow(Row):
    """Resolved, almost and mean of one configuration."""

    headline: Headline


class ViolationsRow(Row):
    """Violations in the trials of one configuration, as in Table 3 of ProgramBench's paper.

    All figures are over the trials that count if flagged ones are treated as all others.
    """

    trials: int
    examined: int
    """Trials of which it is known if they are flagged."""
    flagged: Estimate
    """Share of the examined trials that are flagged."""
    by_kind: dict[str, Estimate]
    """Share of the examined trials with a violation of each kind."""
    tampered: int | None
    """Trials whose submission changed the test system; None if nobody looked."""
    panels: int
    """Trials with a panel."""
    disagreement: float | None
    """Share of panels whose judges do not agree on if there is any violation; None without a panel of two votes."""
    resolved: Estimate
    """Share of all tasks that pass all tests."""
    resolved_unflagged: Estimate
    """The paper's "% resolved": share of all tasks that pass all tests in a trial that is not flagged."""


class PanelRow(Row):
    """The panel of one trial: judges who see a violation, by kind, and how the trial was decided."""

    task: str
    trial: str
    judges: int
    valid: int
    violated: int
    by_kind: dict[str, int]
    unanimous: bool | None
    panel_flagged: bool | None
    """Decision of the panel; None if too many votes are missing."""
    rules_flagged: bool | None
    """True if a rule has a sure finding that succeeded; None if the rules were not applied."""
    tampered: bool | None
    flagged: bool | None


class ModesRow(BaseModel):
    """One mode of collaboration, with the state at the last turn, over all setups of a model, harness and prompt."""

    model_config = ConfigDict(frozen=True)

    model: str
    harness: str
    prompt: str | None
    """Name of the prompt, with a number if other prompts have the same name. None for imported trials."""
    mode: Mode


class LongCliRow(Row):
    """Tables 1 to 3 of LongCLI-Bench for one configuration: main, attempts by F2P step, state by turn."""

    main: FirstTurns
    f2p_steps: dict[str, int]
    turns: tuple[TurnState, ...]
    differences: tuple[TurnDifference, ...]


class SuiteRow(Row):
    """CLI-Tool-Bench's metrics of one configuration: all repositories, then by language."""

    lines: tuple[SuiteLine, ...]


class Comparison(BaseModel):
    """Difference between two configurations, paired by task.

    Intervals are not corrected for the number of comparisons.
    """

    model_config = ConfigDict(frozen=True)

    setup: str
    label: str
    against: str
    against_label: str
    pass_rate: Estimate
    quality: Estimate
    ams: Estimate | None


class RankingRow(BaseModel):
    """Agreement of two rankings of the configurations."""

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    agreement: Agreement


class SubstitutionRow(BaseModel):
    """Calls that another model than the requested one served, over all trials (`scoring.pricing.repricing`)."""

    model_config = ConfigDict(frozen=True)

    requested: str
    served: str
    priced_as: str | None
    trials: int
    calls: int
    computed_usd: float | None
    as_requested_usd: float | None


class Pricing(BaseModel):
    """Source of the costs. All fields but `tables` are known only if trials were priced again."""

    model_config = ConfigDict(frozen=True)

    tables: tuple[str, ...] = ()
    """The snapshot that was asked for, otherwise those that the trials record."""
    sha256: str | None = None
    """Digest of the snapshot that was asked for."""
    date: str | None = None
    unpriced_models: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    """Rates and service tiers that the snapshot lacks, with their row."""
    unknown_usage_calls: int = 0
    substitutions: tuple[SubstitutionRow, ...] = ()


class UnreadableTrial(BaseModel):
    """A trial of a batch whose record cannot be read, and the reason. It is in no figure."""

    model_config = ConfigDict(frozen=True)

    trial: str
    problem: str


class Counts(BaseModel):
    """Numbers of trials, configurations and tasks."""

    model_config = ConfigDict(frozen=True)

    given: int
    counted: int
    configurations: int
    tasks: int
    infrastructure: int
    unfinished: int
    superseded: int
    replaced: int = 0
    """Trials that reruns of a batch replaced. They are not among those given; their costs are among their units'."""
    unjudged: int
    unknown_cost: int
    flagged: int = 0
    examined: int = 0
    """Trials of which it is known if they are flagged."""


class Report(BaseModel):
    """All tables of one benchmark, and all choices that they depend on."""

    model_config = ConfigDict(frozen=True)

    benchmark: str
    cost: CostKind | None
    """Kind of the cost in `cost_usd`; None if the caller did not name it."""
    infrastructure: InfrastructureRule
    duplicates: DuplicateRule
    attempts: AttemptRule
    integrity: IntegrityRule = IntegrityRule.SHOW
    integrity_by: IntegrityBy | None = None
    """Evidence that flags a trial; None for the panel, otherwise the rules, and tampering in any case."""
    level: float
    seed: int
    replicates: int
    profile: Profile
    profile_sha256: str
    pricing: Pricing = Pricing()
    counts: Counts
    unreadable: tuple[UnreadableTrial, ...] = ()
    notes: tuple[_Sentence, ...]
    task_tiers: dict[str, Tier] = {}
    """Tiers of all tasks whose tier is known."""
    configurations: tuple[Configuration, ...]
    tiers: tuple[TierRow, ...]
    effort: tuple[EffortRow, ...]
    passes: tuple[PassesRow, ...]
    headlines: tuple[HeadlineRow, ...]
    modes: tuple[ModesRow, ...]
    interventions: tuple[InterventionsRow, ...] = ()
    """The table `modes`: a line for each setup, with its turns and its differences to base."""
    longcli: tuple[LongCliRow, ...]
    suites: tuple[SuiteRow, ...]
    violations: tuple[ViolationsRow, ...] = ()
    panels: tuple[PanelRow, ...] = ()
    comparisons: tuple[Comparison, ...]
    arms: tuple[ArmRow, ...] = ()
    """A line for each arm and model of a batch; none without a grid."""
    arm_differences: tuple[ArmDifference, ...] = ()
    """A line for each arm but the first of each model."""
    rankings: tuple[RankingRow, ...] = ()

    def note(self, kind: NoteKind) -> Note | None:
        """Return the first note of this kind, if there is one."""
        return next((note for note in self.notes if note.kind == kind), None)
