"""The events of a record: every line that a trial's `events.jsonl` can hold.

The events of a step are in `steps`, those of a panel of judges in `panel`, calls beside the trial in `roles`, plans,
feedback and guidance in `interventions`; all are imported from here. A field or a type of event may be added at any
time, and so may a cause of an exit, and a reason for a message or a pause. A changed meaning, or a new word in another
closed set, needs a new major `SCHEMA_VERSION`. None means unknown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from trajectories.record.base import BaseEvent as BaseEvent, Json as Json, Masked, Words, WordsJson, is_false, is_none
from trajectories.record.exits import Exit
from trajectories.record.interventions import (
    Answered as Answered,
    Asked as Asked,
    Chain as Chain,
    ChainStage as ChainStage,
    Feedback as Feedback,
    FeedbackFile as FeedbackFile,
    FeedbackForm as FeedbackForm,
    FeedbackSource as FeedbackSource,
    Guidance as Guidance,
    Plan as Plan,
)
from trajectories.record.panel import Answer as Answer, PanelStarted as PanelStarted, Voted as Voted
from trajectories.record.parts import (
    Change as Change,
    Imported as Imported,
    Limits as Limits,
    Lowered as Lowered,
    ModelRef as ModelRef,
    Output as Output,
    Parent as Parent,
    PriceRef as PriceRef,
    Reply as Reply,
    Skipped as Skipped,
    Submission as Submission,
    TaskRef as TaskRef,
    TextRef as TextRef,
    ToolCall as ToolCall,
)
from trajectories.record.roles import (
    Purpose as Purpose,
    Role as Role,
    RoleCallFinished as RoleCallFinished,
    RoleCallStarted as RoleCallStarted,
    RoleRecordStarted as RoleRecordStarted,
)
from trajectories.record.steps import (
    ActionFinished as ActionFinished,
    ActionStarted as ActionStarted,
    CallFailed as CallFailed,
    CallFinished as CallFinished,
    CallStarted as CallStarted,
    InheritedReply as InheritedReply,
    Message as Message,
    Snapshot as Snapshot,
)
from trajectories.record.verdict import Verdict
from trajectories.record.words import (
    CUT_OFF as CUT_OFF,
    Ended as Ended,
    FailureClass as FailureClass,
    PauseReason as PauseReason,
    Why as Why,
)

SCHEMA_VERSION = "2.3"
"""Version of the format. `trajectories.reading.migration` turns records of older major versions into this one.

1.1 added `panel_started` and `vote`. 1.2 added optional fields of verdicts (`cause`, `changed`, `tampered`), of
outputs (`complete`), of tasks (`language`), of snapshots (`complete`, `why_incomplete`), of skipped paths (`harmless`)
and of actions (`ended_environment`). 2.0 made room for other agents and other submissions: tools besides bash,
`thread`, requests that are not made of the record's messages, `submission` and `evaluation` of an evaluation, more
causes of exits and more reasons. Requests to judges became role calls. 2.1 added chains of turns with `feedback`,
`question` and `answer`, more about plans, and records of role calls without a trial (`role_record_started`). 2.2 added
what a verdict judged (`result`, `submission`, `processes_kept`, `exposed`, `comparable`), the image of a live
submission, and chains whose turns are the stages of a task. 2.3 added trials that replace others of a batch (`rerun`,
`replaces`).
"""


class TrialStarted(BaseEvent):
    """The first event: everything that was asked for, with every name resolved."""

    type: Literal["trial_started"] = "trial_started"
    schema_version: str = SCHEMA_VERSION
    """Version of the format in which the record is written."""
    trial: str
    """Id of the trial, which is also the name of its folder."""
    identity: str
    """Hash of everything that distinguishes this trial from others, the number of the attempt included."""
    attempt: int = 1
    """Number of this trial among the independent trials of the same configuration, from 1."""
    task: TaskRef
    """Task to solve."""
    model: ModelRef
    """Model that solves it."""
    prompt: TextRef
    """Prompt, whose content is a blob."""
    plan: Plan | None = None
    """Plan that was given to the model, if there was one."""
    limits: Limits
    """Limits of the trial."""
    environment: Literal["docker", "sandbox", "local", "unknown"]
    """Kind of the environment. `unknown` only in an imported trial whose file lacks it."""
    environment_spec: Annotated[Json, Masked(below=frozenset({"env", "build"}))] = Field(default_factory=dict)
    """Settings of the environment, for example image, network and resources."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the programs and packages that took part."""
    prices: PriceRef | None = None
    """Price snapshot from which costs are computed."""
    parent: Parent | None = None
    """Trial and step that this trial was forked from, if it is a fork."""
    injected: TextRef | None = None
    """Text that a fork gave to the model where it begins."""
    options: WordsJson = Field(default_factory=dict)
    """Options of the command, as far as a resumed or forked trial needs them again."""
    variant: str | None = None
    """Variant of the task: a benchmark's own ablation."""
    turn: int | None = None
    """Number of this trial in a chain, from 1. null outside of a chain."""
    chain: Chain | None = Field(default=None, exclude_if=is_none)
    """Chain that the trial belongs to. null outside of a chain."""
    guidance: Guidance | None = Field(default=None, exclude_if=is_none)
    """Expert whom the model may ask, if there is one."""
    tests_revealed: bool = Field(default=False, exclude_if=is_false)
    """True if the feedback may show the model more of hidden tests than their benchmark allows."""
    mode: str | None = Field(default=None, exclude_if=is_none)
    """Mode of the trial, which follows from `turn`, `plan` and `guidance` (`trajectories.record.interventions`). null
    before 2.0."""
    tier: str | None = None
    """Difficulty of the task, as the benchmark names it."""
    label: Words | None = Field(default=None, exclude_if=is_none)
    """Name that the user gave to the trial, to find it again."""
    imported: Imported | None = None
    """Origin of the trial, if it was imported from another program's file."""
    rerun: int | None = Field(default=None, exclude_if=is_none)
    """Number of this trial among those that replaced the first one, from 1. null for the first one itself."""
    replaces: str | None = Field(default=None, exclude_if=is_none)
    """Id of the trial that this one replaces, because infrastructure ended it. Of such trials of a batch the last one
    counts, and the costs of all. null unless `rerun` is set."""

    @property
    def self_corrects(self) -> bool:
        """True for a turn of a chain with feedback, and false for a stage of a task."""
        return self.turn is not None and not (self.chain is not None and self.chain.stages)

    @property
    def inherits_work(self) -> bool:
        """True for a fork and for a turn after the first: the first snapshot holds work of another trial."""
        return self.parent is not None or (self.turn or 1) > 1


class EnvStarted(BaseEvent):
    """The environment is ready: its properties, and what it promises."""

    type: Literal["env_started"] = "env_started"
    kind: str
    """Kind of the environment: docker, sandbox or local."""
    container: str | None = None
    """Name of the container, if there is one."""
    image: str | None = None
    """Image that the container was started from."""
    image_digest: str | None = None
    """Digest of the image."""
    user: str | None = None
    """User that actions run as."""
    workdir: str
    """Directory of the workspace, in which actions start."""
    promises: tuple[str, ...] = ()
    """Names of the guarantees that the environment gives (`docs/reference/environments.md`)."""
    lost: tuple[Words, ...] = ()
    """Guarantees that this machine cannot give, one line each, for example "unprotected: actions run as root"."""
    lowered: tuple[Lowered, ...] = ()
    """Limits that the machine cannot give in full."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the programs that the environment is made of."""
    seconds: float
    """Time that the start took."""
    continues: str | None = Field(default=None, exclude_if=is_none)
    """Id of the trial that handed over this environment, with its processes, if one did."""


class Warned(BaseEvent):
    """Something that a reader should know, for example that a limit cannot be kept or that a path was left out."""

    type: Literal["warning"] = "warning"
    kind: str
    """Kind of the warning, for programs."""
    text: Words
    """The warning in one line, for people."""


class Paused(BaseEvent):
    """The trial's clock stops.

    With `queue`, a call waits at the gate of a batch, before its `call_started`: for its turn at the provider, or for
    money that calls in flight have reserved. If the trial ends meanwhile, `exit` follows without `resumed`.
    """

    type: Literal["paused"] = "paused"
    why: PauseReason | str
    """Reason for the pause. A later version may have added one."""


class Resumed(BaseEvent):
    """The trial's clock runs again. After a wait (`queue`, `budget`) the trial goes on as it was: nothing was restored,
    and the tries of its call are counted on."""

    type: Literal["resumed"] = "resumed"
    lost: tuple[Words, ...] = ()
    """State that could not be restored, one line each, for example processes or files outside of the workspace."""
    restored_step: int | None = None
    """Step whose snapshot the workspace was restored from."""
    rerun: tuple[str, ...] = ()
    """Addresses of the finished actions after that snapshot. They were run again to restore the workspace."""


class Checkpoint(BaseEvent):
    """The whole container was saved as an image after a step."""

    type: Literal["checkpoint"] = "checkpoint"
    step: int
    """Step after which the image was made."""
    image: str
    """Name of the image."""


class Exited(BaseEvent):
    """The agent's work ended."""

    type: Literal["exit"] = "exit"
    exit: Exit
    """Reason and cause of the end."""
    steps: int
    """Number of steps of the trial."""


class WorkspaceExported(BaseEvent):
    """The final workspace was written as an archive."""

    type: Literal["workspace_exported"] = "workspace_exported"
    path: str
    """Path of the archive in the trial's folder."""
    bytes: int
    """Size of the archive."""
    sha256: str
    """sha256 of the archive."""
    entries: int
    """Number of files, directories and links in the archive."""
    skipped: tuple[Skipped, ...] = ()
    """Paths that the archive leaves out."""


class EvaluationStarted(BaseEvent):
    """An evaluation begins. A trial may be evaluated several times."""

    type: Literal["evaluation_started"] = "evaluation_started"
    evaluation: int
    """Number of the evaluation in its record, from 1."""
    evaluator: str
    """Name of the evaluator."""
    submission: Submission
    """The submission that is evaluated."""
    settings: dict[str, str] = Field(default_factory=dict)
    """Settings that change the task for this evaluation, as in its verdict. Empty before 2.2."""


class Evaluated(BaseEvent):
    """An evaluation is over."""

    type: Literal["evaluation"] = "evaluation"
    verdict: Verdict | None
    """The verdict. null if there is none."""
    why_none: Words = ""
    """Reason for which there is no verdict."""


class Unknown(BaseEvent):
    """An event of a type that a newer version added. It keeps its place; its content is not read."""

    type: str


Known = Annotated[
    TrialStarted
    | EnvStarted
    | Message
    | InheritedReply
    | CallStarted
    | CallFinished
    | CallFailed
    | ActionStarted
    | ActionFinished
    | Snapshot
    | Warned
    | Paused
    | Resumed
    | Checkpoint
    | Exited
    | WorkspaceExported
    | EvaluationStarted
    | Evaluated
    | PanelStarted
    | RoleCallStarted
    | RoleCallFinished
    | RoleRecordStarted
    | Voted
    | Feedback
    | Asked
    | Answered,
    Field(discriminator="type"),
]

Event = Known | Unknown

EVENT: TypeAdapter[Known] = TypeAdapter(Known)
"""Parser and writer of one event whose type this version knows."""
