"""Records of chains and of questions, as `agent solve` writes them, without a model and an environment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.record.test_recorder import started
from trajectories.record.conversation import Conversation
from trajectories.record.events import (
    Answered,
    Asked,
    BaseEvent,
    CallFinished,
    CallStarted,
    Chain,
    Evaluated,
    EvaluationStarted,
    Exited,
    Feedback,
    FeedbackFile,
    FeedbackSource,
    Guidance,
    Message,
    ModelRef,
    Paused,
    Purpose,
    Reply,
    Resumed,
    RoleCallFinished,
    RoleCallStarted,
    Submission,
    TextRef,
)
from trajectories.record.exits import Exit
from trajectories.record.interventions import AnswerStatus, mode_of
from trajectories.record.layout import name_of_turn
from trajectories.record.usage import Costs, Usage
from trajectories.record.verdict import Case, CaseStatus, Evaluator, Verdict
from trajectories.writing.derived import write_conveniences
from trajectories.writing.recorder import Recorder

FIRST = "ledger.m.1"
CHAIN = Chain(first=FIRST, turns=3, feedback="output", conversation="fresh", until="fixed")
EXPERT = Guidance(
    by="model",
    model=ModelRef(asked="opus", name="p/opus"),
    prompt=TextRef(name="expert", sha256="1"),
    max=2,
    rule="no-code",
    solution_shown=False,
)
LOG = b"1 failed\n"
COST = Costs(billed=0.5, computed=0.5, list=0.5)


def verdict(cases: Mapping[str, CaseStatus]) -> Verdict:
    """Return a verdict with these cases by id; the group is the part of the id before a dot."""
    passed = sum(status == "passed" for status in cases.values())
    return Verdict(
        status="scored",
        passed=passed == len(cases),
        quality=passed / len(cases),
        cases=tuple(Case(id=id, group=id.partition(".")[0], status=status) for id, status in cases.items()),
        evaluator=Evaluator(name="suite", version="1"),
        isolation="container",
    )


def write_trial(
    directory: Path, events: Iterable[BaseEvent] = (), after: Sequence[BaseEvent] = (), **fields: Any
) -> Path:
    """Write a trial of one step with these events before its call, and with `after` behind its exit."""
    directory.mkdir(parents=True)
    recorder = Recorder(directory)
    start = started().model_copy(update={"trial": directory.name, **fields})
    mode = mode_of(chain=start.turn is not None, plan=start.plan is not None, guidance=start.guidance is not None)
    recorder.append(start.model_copy(update={"mode": mode}))
    recorder.blobs.put(LOG)
    message = Message(id="m1", role="user", content="go", why="task")
    for event in events:
        recorder.append(event)
    conversation = Conversation()
    conversation.add(recorder.append(message))
    sha256 = conversation.sha256
    recorder.append(CallStarted(step=1, message_ids=("m1",), messages=1, messages_sha256=sha256))
    recorder.append(
        CallFinished(
            step=1,
            id="r1",
            reply=Reply(text="x"),
            model_requested="m",
            latency_s=0.1,
            usage=Usage(input=10, output=1),
            costs=COST,
        )
    )
    for event in after:
        recorder.append(event)
    recorder.close()
    write_conveniences(directory)
    return directory


def feedback(chain: Chain, turn: int) -> Feedback:
    """Return the feedback on a turn, with one file."""
    file = FeedbackFile(path="test.log", bytes=len(LOG), sha256=hashlib.sha256(LOG).hexdigest())
    source = FeedbackSource(trial=name_of_turn(chain.first, turn), evaluation=1)
    return Feedback(turn=turn, form=chain.feedback, source=source, files=(file,))


def write_chain(
    batch: Path, *turns: Mapping[str, CaseStatus] | None, chain: Chain = CHAIN, **fields: Any
) -> list[Path]:
    """Write a turn for each verdict, None for one without; return their folders."""
    folders = []
    for number, cases in enumerate(turns, 1):
        ending: list[BaseEvent] = [Exited(exit=Exit.of("submitted"), steps=1)]
        if cases is not None:
            submission = Submission(kind="archive", sha256="0" * 64)
            ending += [EvaluationStarted(evaluation=1, evaluator="suite", submission=submission)]
            ending += [Evaluated(verdict=verdict(cases))]
        before = [feedback(chain, earlier) for earlier in range(1, number)]
        name = name_of_turn(chain.first, number)
        folders.append(write_trial(batch / name, before, ending, turn=number, chain=chain, **fields))
    return folders


def question(number: int, left: int) -> Asked:
    return Asked(question=number, action=f"1.{number}", step=1, text=f"How to do {number}?", left=left)


def answer(number: int, try_: int, status: AnswerStatus, text: str = "", call: int | None = None) -> Answered:
    line = "x = 1" if status in ("refused", "replaced") else None
    return Answered(
        question=number, try_=try_, by="model", status=status, text=text, rule="no-code", line=line, call=call
    )


def call(number: int, about: int, text: str) -> list[BaseEvent]:
    """Return a call of the expert with its result."""
    assert EXPERT.model is not None
    assert EXPERT.prompt is not None
    purpose = Purpose(question=about)
    return [
        RoleCallStarted(call=number, role="expert", purpose=purpose, model=EXPERT.model, prompt=EXPERT.prompt),
        RoleCallFinished(call=number, status="answered", text=text, usage=Usage(input=5, output=5), costs=COST),
    ]


def write_guided(directory: Path, **fields: Any) -> Path:
    """Write a trial with an answer after a refusal, one that nobody gave, and a question too many."""
    events: list[BaseEvent] = [
        question(1, 2),
        Paused(why="guidance"),
        *call(1, 1, "x = 1"),
        answer(1, 1, "refused", "x = 1", 1),
        *call(2, 1, "Sort first."),
        answer(1, 2, "given", "Sort first.", 2),
        Resumed(),
        question(2, 1),
        Paused(why="guidance"),
        answer(2, 1, "nobody"),
        Resumed(),
        question(3, 0),
        answer(3, 1, "nobody"),
    ]
    return write_trial(directory, (), [*events, Exited(exit=Exit.of("submitted"), steps=1)], guidance=EXPERT, **fields)
