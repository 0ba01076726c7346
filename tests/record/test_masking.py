"""Masking: every text of an event has the type `Words`, or is exempt for a reason that stands here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from pydantic import BaseModel

from tests.record.test_recorder import started
from tests.record.writing import Writing
from trajectories.checks.check import check
from trajectories.reading.reader import read_events
from trajectories.record.base import Masked
from trajectories.record.events import CallFinished, Known, Message, Reply, Snapshot, ToolCall
from trajectories.workspace.checkout import check_out
from trajectories.workspace.states import state_at
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

SECRET = "sk-verysecret-123"
MASKED = "[secret:SOME_API_KEY]"
EVENTS: tuple[type[BaseModel], ...] = get_args(get_args(Known)[0])

OURS = "made by Retrace: a time, a number as text, or a name that it gave"
HASH = "a hash, or the address of content by its hash"
LOOKED_UP = "readers look something up by it: a masked one would lead nowhere"
COMPARED = "decides how a trial goes on, or is compared with what is there then"
PUBLIC = "comes from a published table or release"
EXEMPT = {
    "Answered.broken": OURS,
    "ActionFinished.action": OURS,
    "ActionFinished.thread": OURS,
    "ActionStarted.action": OURS,
    "ActionStarted.thread": OURS,
    "ActionStarted.tool": OURS,
    "Asked.action": OURS,
    "BaseEvent.t": OURS,
    "CallFailed.thread": OURS,
    "CallFinished.finish_reason": COMPARED,
    "CallFinished.id": OURS,
    "CallFinished.model_requested": COMPARED,
    "CallFinished.thread": OURS,
    "CallStarted.message_ids": OURS,
    "CallStarted.messages_sha256": HASH,
    "CallStarted.thread": OURS,
    "Case.group": COMPARED,
    "Case.id": COMPARED,
    "Chain.first": OURS,
    "ChainStage.gate": OURS,
    "Change.sha256": HASH,
    "Checkpoint.image": LOOKED_UP,
    "EnvStarted.container": OURS,
    "EnvStarted.continues": OURS,
    "EnvStarted.image": LOOKED_UP,
    "EnvStarted.image_digest": HASH,
    "EnvStarted.kind": OURS,
    "EnvStarted.promises": OURS,
    "EnvStarted.user": COMPARED,
    "EnvStarted.versions": PUBLIC,
    "EnvStarted.workdir": COMPARED,
    "EvaluationStarted.evaluator": OURS,
    "EvaluationStarted.settings": LOOKED_UP,
    "Evaluator.inputs": LOOKED_UP,
    "Evaluator.name": OURS,
    "Evaluator.version": PUBLIC,
    "Exit.cause": OURS,
    "FeedbackFile.sha256": HASH,
    "FeedbackSource.trial": OURS,
    "Imported.format": OURS,
    "Imported.layout": OURS,
    "Imported.sha256": HASH,
    "InheritedReply.id": OURS,
    "Lowered.limit": OURS,
    "Message.action": OURS,
    "Message.id": OURS,
    "Message.thread": OURS,
    "Message.why": OURS,
    "ModelRef.name": COMPARED,
    "Output.blob": HASH,
    "Output.sha256": HASH,
    "PanelStarted.about": OURS,
    "PanelStarted.questions": OURS,
    "Parent.trial": LOOKED_UP,
    "Paused.why": OURS,
    "Plan.record": OURS,
    "PriceRef.date": PUBLIC,
    "PriceRef.name": LOOKED_UP,
    "PriceRef.rates": PUBLIC,
    "PriceRef.sha256": HASH,
    "PriceRef.source": PUBLIC,
    "Resumed.rerun": OURS,
    "RoleCallStarted.request": HASH,
    "RoleRecordStarted.record": OURS,
    "RoleRecordStarted.schema_version": OURS,
    "RoleRecordStarted.versions": PUBLIC,
    "Submission.image": LOOKED_UP,
    "Submission.sha256": HASH,
    "SystemChange.reached_by": OURS,
    "TaskRef.benchmark": LOOKED_UP,
    "TaskRef.digest": HASH,
    "TaskRef.id": LOOKED_UP,
    "TextRef.name": LOOKED_UP,
    "TextRef.sha256": HASH,
    "TrialStarted.environment_spec": COMPARED,
    "TrialStarted.identity": HASH,
    "TrialStarted.mode": OURS,
    "TrialStarted.replaces": LOOKED_UP,
    "TrialStarted.schema_version": OURS,
    "TrialStarted.tier": COMPARED,
    "TrialStarted.trial": LOOKED_UP,
    "TrialStarted.variant": COMPARED,
    "TrialStarted.versions": PUBLIC,
    "Verdict.metrics": OURS,
    "Verdict.settings": LOOKED_UP,
    "Voted.answers": OURS,
    "Warned.kind": OURS,
    "WorkspaceExported.path": OURS,
    "WorkspaceExported.sha256": HASH,
}
"""Free texts, and keys of mappings, in which nothing is masked. The keys of JSON objects stay everywhere."""


def models_of(models: tuple[type[BaseModel], ...]) -> set[type[BaseModel]]:
    """Return all models that the fields of these hold, directly or in one another."""
    inside: set[type[BaseModel]] = set()
    waiting: list[Any] = list(models)
    while waiting:
        annotation = waiting.pop()
        waiting += get_args(annotation)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in inside:
            inside.add(annotation)
            waiting += [field.annotation for field in annotation.model_fields.values()]
    return inside


def free_texts(annotation: Any, marked: bool = False) -> Iterator[bool]:
    """Yield True for each text or JSON object of this type that is marked, and False for the others."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        marks = [entry for entry in parts[1:] if isinstance(entry, Masked)]
        yield from free_texts(parts[0], marked or any(mark.below is None for mark in marks))
    elif annotation in (str, Any) or (origin is dict and parts[1] is Any):
        yield marked
    elif origin is not Literal:
        for part in parts:
            yield from free_texts(part, marked)


def test_every_free_text_of_every_event_is_marked_or_exempt_for_a_reason() -> None:
    unmarked = set()
    for model in models_of(EVENTS):
        for name, field in model.model_fields.items():
            annotation = Annotated[(field.annotation, *field.metadata)] if field.metadata else field.annotation
            texts = list(free_texts(annotation))
            owner = next(base for base in reversed(model.__mro__) if name in getattr(base, "__annotations__", {}))
            if not all(texts):
                unmarked.add(f"{owner.__name__}.{name}")
    assert unmarked - EXEMPT.keys() == set(), "give each the type Words, or a reason above"
    assert EXEMPT.keys() - unmarked == set(), "these are masked, or gone"


def filled(annotation: Any) -> Any:
    """Return a value of this type with a secret in every text."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return filled(next(part for part in parts if part is not NoneType))
    if origin is Annotated:
        return filled(parts[0])
    if origin is Literal:
        return parts[0]
    if origin is tuple:
        return (filled(parts[0]),)
    if origin is dict:
        return {"key": ["in", {"deep": f"a {SECRET}"}] if parts[1] is Any else filled(parts[1])}
    if issubclass(annotation, BaseModel):
        return annotation.model_construct(
            **{name: filled(field.annotation) for name, field in annotation.model_fields.items()}
        )
    return f"a {SECRET}" if annotation is str else annotation(1)


def places(value: Any, place: str = "") -> Iterator[str]:
    """Yield the model and field of each text that holds the secret."""
    if isinstance(value, BaseModel):
        for base in type(value).__mro__:
            for name in getattr(base, "__annotations__", {}):
                if name in type(value).model_fields:
                    yield from places(getattr(value, name), f"{base.__name__}.{name}")
    elif isinstance(value, dict):
        for item in value.values():
            yield from places(item, place)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from places(item, place)
    elif isinstance(value, str) and SECRET in value:
        yield place


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_a_secret_stays_only_in_what_is_exempt(kind: type[BaseModel]) -> None:
    event = filled(kind)
    masked = Masker({"SOME_API_KEY": SECRET}).event(event)
    before, after = set(places(event)), set(places(masked))
    assert after == before & EXEMPT.keys()
    assert json.dumps(masked.model_dump(mode="json", warnings=False)).count(MASKED) >= len(before - after)


def test_in_the_environment_only_variables_and_build_arguments_are_masked(tmp_path: Path) -> None:
    spec = {"image": f"r/{SECRET}", "env": {"A": SECRET}, "build": {"args": {"B": f"b{SECRET}"}}}
    recorder = Recorder(tmp_path, masker=Masker({"SOME_API_KEY": SECRET}))
    written = recorder.append(started().model_copy(update={"environment_spec": spec}))
    recorder.close()
    assert written.environment_spec == {
        "image": f"r/{SECRET}",
        "env": {"A": MASKED},
        "build": {"args": {"B": f"b{MASKED}"}},
    }


def test_tool_names_and_call_ids_are_masked_alike_in_a_reply_its_message_and_its_observation(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, masker=Masker({"SOME_API_KEY": SECRET}))
    recorder.append(started())
    call = ToolCall(id=f"call_{SECRET}", name=f"run_{SECRET}", arguments="{}")
    message = {"tool_calls": [{"id": call.id, "function": {"name": call.name}}]}
    reply = Reply(tool_calls=(call,), message=message)
    recorder.append(CallFinished(step=1, id="m2", reply=reply, model_requested="m", latency_s=1.0))
    recorder.append(Message(id="m3", role="tool", content="x", why="observation", tool_call_id=call.id))
    recorder.close()
    _, finished, observation = read_events(tmp_path)
    assert finished.reply.tool_calls[0].id == observation.tool_call_id == f"call_{MASKED}"
    assert finished.reply.tool_calls[0].name == f"run_{MASKED}"
    assert finished.reply.message["tool_calls"] == [{"id": f"call_{MASKED}", "function": {"name": f"run_{MASKED}"}}]
    assert SECRET not in (tmp_path / "events.jsonl").read_text()


def test_a_masked_link_target_is_restored_as_masked_like_a_masked_path(tmp_path: Path) -> None:
    masker = Masker({"SOME_API_KEY": SECRET})
    tree = {f"of-{SECRET}".encode(): b"x", b"link": (f"keys/{SECRET}".encode(),)}
    trial = Writing(tmp_path / "b" / "t", tree, masker=masker).step(tree).done()
    (first, *_) = (event for event in read_events(trial) if isinstance(event, Snapshot))
    assert {change.path: change.link for change in first.changes} == {f"of-{MASKED}": None, "link": f"keys/{MASKED}"}
    assert SECRET not in (trial / "events.jsonl").read_text()
    assert check(trial).consistent
    result = check_out(state_at(trial), tmp_path / "out")
    assert not result.missing
    assert (tmp_path / "out" / "link").readlink() == Path(f"keys/{MASKED}")
    assert (tmp_path / "out" / f"of-{MASKED}").read_bytes() == b"x"


def test_of_two_secrets_of_which_one_begins_the_other_the_longer_is_masked_whole() -> None:
    secrets = {"A_KEY": "abcdefgh", "B_KEY": "abcdefgh-ijklmnop", "C_KEY": "xx-abcdefgh"}
    text = "1 abcdefgh-ijklmnop 2 abcdefgh 3 xx-abcdefgh 4"
    masked = "1 [secret:B_KEY] 2 [secret:A_KEY] 3 [secret:C_KEY] 4"
    for names in (sorted(secrets), sorted(secrets, reverse=True)):
        masker = Masker({name: secrets[name] for name in names})
        assert masker.text(text) == masked
        assert masker.data(text.encode()) == (masked.encode(), True)
        assert b"".join(masker.pieces(iter([text[:9].encode(), text[9:].encode()]), lambda: None)) == masked.encode()
