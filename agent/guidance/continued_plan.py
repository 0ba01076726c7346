"""Continues the record of a plan whose process was killed or interrupted: no reply that came is asked for again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent.errors import UserError
from agent.guidance.planning import check_of, planner_of, write_beside
from agent.models.choose import HUMAN, NOP, SCRIPT
from agent.models.protocol import AssistantTurn
from agent.reports.prices import require_prices
from agent.roles.asking import Turns
from agent.roles.planner import REPLIES, Flaw, PlanCheck, PlanConversation, ask_for_plan, flaw_of
from agent.roles.recording import continued_record
from agent.trial.options import Options
from agent.trial.order import Order
from agent.trial.resolve import resolve
from environments.protocol import Kind
from prompts import Prompt, load_role
from trajectories.blobs.store import BlobStore
from trajectories.reading.plans.record import PlanRecord, plan_of, read_plan
from trajectories.record.events import Event, Message, Reply, RoleCallFinished, RoleCallStarted, RoleRecordStarted
from trajectories.record.layout import TrialFolder


def continue_plan(directory: Path, api_base: str | None, say: Callable[[str], None]) -> tuple[PlanRecord, bool]:
    """Return the record with its plan, and True if it was asked for; a record that holds one already stays as it is.

    Raises: UserError if it cannot be continued; MachineError if no plan came; RecordError, TrialInUse;
    KeyboardInterrupt.
    """
    with continued_record(directory) as (events, calls):
        record = plan_of(directory, events)
        if record.text is not None:
            write_beside(record)
            return record, False
        start = events[0]
        assert isinstance(start, RoleRecordStarted)  # otherwise it is not the record of a plan
        prompt = load_role("planner")
        if prompt.sha256 != start.prompt.sha256:
            raise UserError(f"{directory.name}: the prompt of planners has changed since; make another plan")
        order = _order(directory, start)
        check = check_of(order.task, record.rule)
        asked = _conversation(directory, events, prompt, check)
        plain = start.model.asked == HUMAN or start.model.asked.startswith(SCRIPT)
        asker = planner_of(start.model.asked, order, {} if plain else start.model.settings, api_base)
        try:
            if (asker.model.name, asker.model.settings) != (start.model.name, start.model.settings):
                raise UserError(f"{directory.name}: the model {start.model.asked} has changed; make another plan")
            say(f"asking {asker.model.asked} for a plan; the record is {directory}")
            ask_for_plan(asker, prompt, check, asked, calls, say)
        finally:
            asker.close()
        record = read_plan(directory)
        write_beside(record)
        return record, True


def _order(directory: Path, start: RoleRecordStarted) -> Order:
    """Return an order that says where the task begins, as when the record was begun.

    Raises: UserError if the task or the prices have changed.
    """
    options, task = start.options, start.task
    require_prices(directory.name, start)
    order = resolve(
        Options(
            model=NOP,
            task=str(options.get("task", task.id)),
            variants=tuple(str(options["variant"]).split("+")) if "variant" in options else (),
            env=cast(Kind, options.get("environment")),
            prices=options.get("prices"),
            evaluate=False,
            runs=directory.parent.parent,
        ),
        recorded=True,
    )
    if order.task.digest != task.digest:
        raise UserError(f"{directory.name}: the task {task.id} has changed since; make another plan with agent plan")
    return order


def _conversation(directory: Path, events: Sequence[Event], prompt: Prompt, check: PlanCheck) -> PlanConversation:
    """Return the conversation as the record leaves it.

    Raises: UserError if nothing was asked, if no reply is left, or if the request is not kept.
    """
    requests = [event for event in events if isinstance(event, RoleCallStarted)]
    results = {event.call: event for event in events if isinstance(event, RoleCallFinished)}
    replies = sum(result.status == "malformed" for result in results.values())
    if not requests or requests[-1].request is None:
        reason = "it died before anything was asked" if not requests else "its requests hold a secret and are not kept"
        raise UserError(f"{directory.name}: {reason}; make another plan with agent plan")
    if replies >= REPLIES:
        raise UserError(f"{directory.name}: none of {REPLIES} replies can be used; make another plan with agent plan")
    last = requests[-1]
    data = BlobStore(TrialFolder(directory).blobs).get(last.request or "")
    asked = PlanConversation(_turns(json.loads(data)), replies, last.try_)
    result = results.get(last.call)
    if result is None or result.status != "malformed":
        return asked
    text = result.text or ""
    flaw = flaw_of(text, check) or Flaw(result.detail)  # the rule may have changed since
    count = len(asked.history)
    more: Turns = [
        AssistantTurn(f"m{count + 1}", Reply(text=text)),
        Message(id=f"m{count + 2}", role="user", content=flaw.told(prompt), why="format_error"),
    ]
    return replace(asked, history=[*asked.history, *more], tries=0)


def _turns(messages: Sequence[dict[str, str]]) -> Turns:
    turns: Turns = []
    for number, message in enumerate(messages, start=1):
        if message["role"] == "assistant":
            turns.append(AssistantTurn(f"m{number}", Reply(text=message["content"])))
        else:
            why = {1: "system", 2: "task"}.get(number, "format_error")
            turns.append(Message.model_validate({"id": f"m{number}", **message, "why": why}))
    return turns
