"""The records inside events: tasks, models, replies, outputs, limits, changed paths.

`trajectories.record.events` has the events, and these names can be imported from there as well.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, SerializationInfo, SerializerFunctionWrapHandler, model_serializer, model_validator

from trajectories.record.base import Json as Json, Part, Words, WordsJson, is_false, is_none
from trajectories.record.copies import LINE, with_copies, without_copies
from trajectories.record.words import SubmissionKind


class TaskRef(Part):
    """A task, with the hash of its content."""

    id: str
    """Id of the task within its benchmark, for example `demo/ledger`."""
    benchmark: str
    """Name of the benchmark."""
    digest: str
    """sha256 over the task's content, hidden tests included."""
    title: Words = ""
    """Title of the task."""
    language: Words | None = None
    """Programming language of the task, as the benchmark names it: that of the original, if a program is to be rebuilt.

    null if the benchmark names none, and in records before 1.2.
    """
    stage: int | None = Field(default=None, exclude_if=is_none)
    """Number of the stage that the trial works on, from 1. null for a task without stages."""


class ModelRef(Part):
    """A model: the name that the user typed, and the name that it stands for."""

    asked: Words
    """Name that the user typed, for example `opus`."""
    name: str
    """Name that is requested, for example `anthropic/claude-opus-4-7`."""
    settings: WordsJson = Field(default_factory=dict)
    """Settings of the model, for example its temperature."""


class TextRef(Part):
    """A text that the trial was given, such as a prompt or a plan."""

    name: str
    """Name of the text, or the file that it was read from."""
    sha256: str
    """sha256 of the text, and the name of the blob that holds it."""


class Limits(Part):
    """Limits of a trial. null means that there is no such limit."""

    steps: int | None = Field(default=1000, gt=0)
    """Most steps of the trial."""
    time_s: float | None = Field(default=6 * 3600.0, gt=0)
    """Longest time for the agent's work, without pauses."""
    tokens: int | None = Field(default=None, gt=0)
    """Most tokens of all calls together, prompts and replies."""
    cost_usd: float | None = Field(default=None, gt=0)
    """Highest cost of all calls together."""
    command_s: float = Field(default=180.0, gt=0)
    """Longest time for one action."""
    output_bytes: int = Field(default=64 << 20, gt=0)
    """Most output of one action. An action that writes more is ended."""
    format_errors: int = Field(default=3, gt=0)
    """Number of replies in a row without a readable action that ends the trial."""


class PriceRef(Part):
    """The price snapshot from which a trial's costs are computed."""

    name: str | None = None
    """Name of the snapshot, for use with `--prices`. null in older records."""
    source: str
    """Origin of the prices, for example `litellm 1.106.2`."""
    date: str | None = None
    """Day on which the prices were valid, if the source tells it."""
    sha256: str
    """sha256 of the snapshot."""
    rates: Json | None = None
    """Prices of the requested model as the source lists them. null if it does not list the model."""


class Parent(Part):
    """The trial and the step that a fork starts from."""

    trial: str
    """Id of the parent trial."""
    step: int
    """Step of the parent after which the fork begins."""


class ToolCall(Part):
    """One tool call of a reply."""

    id: Words
    """Id of the call, unique in its trial. An observation names it."""
    name: Words
    """Name of the tool."""
    arguments: Words
    """Arguments as the provider sent them. They may not be valid JSON."""


class Reply(Part):
    """A model's reply."""

    text: Words = ""
    """Text of the reply."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls of the reply, in order."""
    refusal: Words = ""
    """Text with which the model or the provider refused to answer."""
    message: WordsJson = Field(default_factory=dict)
    """The provider's message exactly as it came. It is sent back unchanged with the next call."""
    without_copies: bool = Field(default=False, exclude_if=is_false)
    """True if texts of `message` are null in this line because they stand beside it. Of `text`, if it is not empty:
    `content`, unless there is an `output`; and the `text` of the part of type `text` or `output_text`, if there is only
    one in `content` or in the `content` of the items of `output`. Of the `arguments` in `tool_calls`, in order, if they
    are not empty: the `arguments` of each `function` in the message's `tool_calls`, or of each item of type
    `function_call` in `output`. Only a null in such a place stands for a text."""

    @model_validator(mode="after")
    def _restore(self) -> Self:
        if not self.without_copies:
            return self
        message = with_copies(self.message, self.text, [call.arguments for call in self.tool_calls])
        return self.model_copy(update={"message": message, "without_copies": False})

    @model_serializer(mode="wrap")
    def _shorten(self, serialize: SerializerFunctionWrapHandler, info: SerializationInfo) -> Json:
        content: Json = serialize(self)
        if info.context is LINE:
            short = without_copies(self.message, self.text, [call.arguments for call in self.tool_calls])
            if short is not None:
                content |= {"message": short, "without_copies": True}
        return content


class Output(Part):
    """Output of an action."""

    bytes: int
    """Size of everything that was printed, including what the output limit cut off."""
    kept: int
    """Size of the output that the record holds."""
    sha256: str
    """sha256 of the kept bytes, after secrets were masked."""
    blob: str | None = None
    """Name of the blob that holds the kept bytes. null if they are exactly `text` in UTF-8."""
    text: Words
    """The output as the model sees it: decoded as UTF-8 with replacement, and cut in the middle if it is long."""
    masked: bool = False
    """True if secrets were masked in the output."""
    complete: bool = True
    """False if the file of an imported trial left out a part of the output, or all of it. Then `bytes` is a lower bound
    and the kept bytes are not the output of any run: its beginning and its end, joined."""


class Lowered(Part):
    """A limit that the machine cannot give in full."""

    limit: str
    """Name of the limit."""
    asked: Words
    """Value that was asked for."""
    given: Words
    """Value that the environment has."""


class Change(Part):
    """One path of the workspace that a step changed. After a deletion, the fields describe the path before it.

    A byte of a path that is not valid UTF-8 stands as `\\xNN`, a backslash as `\\\\`, so that each name can be
    restored (`trajectories.record.texts.paths`).
    """

    path: Words
    """Path relative to the workspace."""
    change: Literal["created", "modified", "deleted"]
    """Kind of the change."""
    type: Literal["file", "directory", "symlink", "other"] = "file"
    """Type of the file."""
    mode: int | None = None
    """Permission bits of the file."""
    size: int | None = None
    """Size of a file's content."""
    mtime_ns: int | None = None
    """Time of the last modification, since 1970."""
    link: Words | None = None
    """Target of a symbolic link."""
    sha256: str | None = None
    """sha256 of a file's content, and the name of the blob that holds it."""
    kept: bool = True
    """False if the content is too large to be kept or could not be read. Then at most its hash is known."""


class Imported(Part):
    """Origin of an imported trial, and what its file reports about the whole run. null means that the file lacks it.

    The events hold the single calls. `calls`, `billed_usd` and `exit_status` are the file's own totals. They can differ
    from the sum of its messages.
    """

    format: str
    """Name of the file's format, for example `mini-swe-agent`."""
    layout: str
    """Layout within the format, for example `chat`."""
    version: Words | None = None
    """Version of the program that wrote the file."""
    agent: Words | None = None
    """Name of the agent, for a format that many agents write. null for others, and before schema 1.2."""
    file: Words
    """Name of the file, without its directory."""
    sha256: str
    """sha256 of the file, and the name of the blob that holds it."""
    bytes: int
    """Size of the file."""
    calls: int | None = None
    """Number of calls."""
    billed_usd: float | None = None
    """Cost of the run."""
    exit_status: Words | None = None
    """Reason for the end of the run, in the words of the file."""
    submission: Output | None = None
    """Text that the agent submitted, if it submitted one."""
    not_said: tuple[Words, ...] = ()
    """Facts that a record of Retrace holds and this file lacks, one line each."""


class Submission(Part):
    """What is evaluated: an exported workspace, an image that the container was saved as, or the live container."""

    kind: SubmissionKind
    """Kind of the submission."""
    sha256: str | None = None
    """sha256 of the archive. null for the other kinds."""
    image: str | None = None
    """Image that is evaluated, or that the live container was committed as before. null for an archive."""

    @model_validator(mode="after")
    def _is_named(self) -> Self:
        is_archive = self.kind == "archive"
        if (self.sha256 is not None) != is_archive or (self.image is not None and is_archive):
            raise ValueError(f"a submission of the kind {self.kind!r} needs the sha256 of an archive, or an image")
        if self.kind == "image" and self.image is None:
            raise ValueError("a submission of the kind 'image' needs the name of the image")
        return self


class Skipped(Part):
    """A path that was left out."""

    path: Words
    """Path relative to the workspace."""
    why: Words
    """Reason for leaving it out."""
    harmless: bool | None = None
    """True if the path has no content, or could not be unpacked anywhere. Only exports set it; null before 1.2."""
