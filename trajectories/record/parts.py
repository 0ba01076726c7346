"""The records inside events: what a task, a model, a reply, an output, a limit is on disk.

Only shapes; `trajectories.record.events` has the events and hands these names on.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trajectories.record.base import Json as Json, Part, Words, WordsJson


class TaskRef(Part):
    """The task as it was resolved."""

    id: str
    benchmark: str
    digest: str
    """sha256 over the task's content, hidden tests included."""
    title: Words = ""


class ModelRef(Part):
    """The model as it was asked for and what it resolved to."""

    asked: Words
    """What the user typed, for instance `opus`."""
    name: str
    """What is requested, for instance `anthropic/claude-opus-4-7`."""
    settings: WordsJson = Field(default_factory=dict)


class TextRef(Part):
    """A prompt or a plan, by name and content hash."""

    name: str
    sha256: str


class Limits(Part):
    """When the loop stops; None is no limit."""

    steps: int | None = Field(default=1000, gt=0)
    time_s: float | None = Field(default=6 * 3600.0, gt=0)
    tokens: int | None = Field(default=None, gt=0)
    cost_usd: float | None = Field(default=None, gt=0)
    command_s: float = Field(default=180.0, gt=0)
    """Deadline of one action."""
    output_bytes: int = Field(default=64 << 20, gt=0)
    """An action that writes more is ended."""
    format_errors: int = Field(default=3, gt=0)
    """So many unparseable replies in a row end the trial."""


class PriceRef(Part):
    """The price snapshot a trial is computed with."""

    name: str | None = None
    """What `--prices` takes; None in older records."""
    source: str
    """For instance `litellm 1.106.2`."""
    date: str | None = None
    """As of which day its prices are, where it says so."""
    sha256: str
    rates: Json | None = None
    """The requested model's row as it stands in the source; None where it has none."""


class Parent(Part):
    """Where a fork branched off."""

    trial: str
    step: int


class ToolCall(Part):
    """One tool call of a reply, its arguments as the provider sent them (perhaps no JSON)."""

    id: Words
    name: Words
    arguments: Words


class Reply(Part):
    """A model's answer. `message` is the provider's message verbatim, to be sent back unchanged."""

    text: Words = ""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: Words = ""
    message: WordsJson = Field(default_factory=dict)


class Output(Part):
    """What an action printed."""

    bytes: int
    """Counted, also where the rest was cut off at the output cap."""
    kept: int
    """Bytes that the record holds."""
    sha256: str
    """Of the kept bytes, after secrets were masked."""
    blob: str | None = None
    """Where the kept bytes are; None if `text` encodes to exactly them."""
    text: Words
    """As shown to the model: decoded with replacement, cut in the middle when long."""
    masked: bool = False
    """Whether known secrets were masked in it."""


class Lowered(Part):
    """A limit that the host could not give."""

    limit: str
    asked: Words
    given: Words


class Change(Part):
    """One path of the workspace that a step changed; for a deletion only what was there.

    Paths are relative to the workspace. Bytes that are no UTF-8 stand as `\\xNN`, a backslash as `\\\\`
    (`trajectories.record.paths`), so that every name survives.
    """

    path: Words
    change: Literal["created", "modified", "deleted"]
    type: Literal["file", "directory", "symlink", "other"] = "file"
    mode: int | None = None
    size: int | None = None
    mtime_ns: int | None = None
    link: Words | None = None
    """A symbolic link's target."""
    sha256: str | None = None
    """Of a file's content."""
    kept: bool = True
    """False: the content is too large to be kept, or could not be read; only its hash is known, if that."""


class Imported(Part):
    """Where an imported trial comes from, and what its file says of the whole run; None is "the file does not say".

    The events hold what the file says call by call; `calls`, `billed_usd` and `exit_status` are its own totals, kept
    because they can differ from what its messages add up to.
    """

    format: str
    """For instance `mini-swe-agent`."""
    layout: str
    """Which of the format's layouts, for instance `chat`."""
    version: Words | None = None
    """Of the program that wrote the file."""
    file: Words
    """Its name, without the directory."""
    sha256: str
    """Of its bytes, which are kept as the blob of this name."""
    bytes: int
    calls: int | None = None
    billed_usd: float | None = None
    exit_status: Words | None = None
    submission: Output | None = None
    """What the agent handed in, if it was a text."""
    not_said: tuple[Words, ...] = ()
    """What a record of our own holds and this file does not."""


class Skipped(Part):
    """A path that an export left out, and why."""

    path: Words
    why: Words
