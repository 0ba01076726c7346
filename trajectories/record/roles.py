"""Calls of models beside a trial: each request and its result. They are priced, and never part of the agent's usage."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from trajectories.record.base import BaseEvent, Part, Words, WordsJson, is_none
from trajectories.record.parts import ModelRef, PriceRef, TaskRef, TextRef
from trajectories.record.usage import Costs, Usage
from trajectories.record.words import FailureClass

Role = Literal["judge", "planner", "expert", "case_writer"]
"""Parts that a model can play beside the agent."""

RoleCallStatus = Literal["answered", "malformed", "failed", "cut_off"]
"""Results of a role call: a reply that can be used, one that cannot, no reply, or nobody waited for the reply."""


class Purpose(Part):
    """The matter that a role call is about."""

    panel: int | None = Field(default=None, exclude_if=is_none)
    """Number of the panel, for a judge."""
    judge: int | None = Field(default=None, exclude_if=is_none)
    """Number of the judge in its panel."""
    question: int | None = Field(default=None, exclude_if=is_none)
    """Number of the agent's question, for an expert."""
    plan: int | None = Field(default=None, exclude_if=is_none)
    """Number of the plan in its record, for a planner."""


class RoleRecordStarted(BaseEvent):
    """The first event of a record without a trial: calls of a role, for example of a planner."""

    type: Literal["role_record_started"] = "role_record_started"
    schema_version: str
    """Version of the format in which the record is written."""
    record: str
    """Name of the record, which is also the name of its folder."""
    role: Role
    """Part that the model plays."""
    task: TaskRef
    """Task that the calls are about."""
    model: ModelRef
    """Model that is asked."""
    prompt: TextRef
    """Prompt that the requests are made from, whose content is a blob."""
    prices: PriceRef | None = None
    """Price snapshot from which costs are computed. null for a model that is free."""
    options: WordsJson = Field(default_factory=dict)
    """Options of the command that change what is asked."""
    versions: dict[str, str] = Field(default_factory=dict)
    """Versions of the programs and packages that took part."""


class RoleCallStarted(BaseEvent):
    """A request of a role is about to leave. If no `role_call_finished` follows, its cost is unknown."""

    type: Literal["role_call_started"] = "role_call_started"
    call: int
    """Number of the role call in its record, from 1. Each request has its own, a repeated one too."""
    role: Role
    """Part that the model plays."""
    purpose: Purpose
    """Matter that the call is about."""
    model: ModelRef
    """Model that is asked."""
    prompt: TextRef
    """Prompt that the request is made from."""
    request: str | None = None
    """Name of the blob that holds the messages of the request, as a JSON list of `role` and `content`. null if they
    hold a secret, and in records before 2.0."""
    try_: int = Field(alias="try", default=1)
    """Number of this request among those for the same messages, from 1."""
    reserved_usd: float | None = Field(default=None, exclude_if=is_none)
    """Largest cost of the call in US dollars, which was reserved in a budget that the trial shares with others."""
    reserved_tokens: int | None = Field(default=None, exclude_if=is_none)
    """Most tokens of the call, which were reserved in the same way."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class RoleCallFinished(BaseEvent):
    """The result of a role call."""

    type: Literal["role_call_finished"] = "role_call_finished"
    call: int
    """Number of the role call, as in `role_call_started`."""
    status: RoleCallStatus
    """Result of the call."""
    text: Words | None = None
    """Text of the reply as it came. null if no reply came."""
    refusal: Words = Field(default="", exclude_if=lambda text: not text)
    """Text with which the model refused to answer."""
    error: FailureClass | None = None
    """Class of the failure, if no reply came."""
    detail: Words = ""
    """Description of the failure, or of what is wrong with a malformed reply, in one line."""
    usage_raw: WordsJson | None = None
    """Usage exactly as the provider reported it."""
    usage: Usage | None = None
    """Usage in buckets that are the same for all providers."""
    costs: Costs | None = None
    """Costs of the call. null if nothing shows that it was billed."""
    model_served: Words | None = None
    """Model that answered, as the provider named it."""
    latency_s: float | None = None
    """Time from the request to the end of the reply. null if it is not known."""
