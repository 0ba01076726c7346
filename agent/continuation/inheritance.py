"""The conversation that a fork takes over from its parent, under a prompt of its own if it has another one."""

from __future__ import annotations

from agent.loop.instructions import Say
from agent.trial.order import Order
from agent.trial.restoring.losses import moved
from agent.trial.restoring.standing import Standing
from agent.trial.start import Turn
from environments.protocol import Started
from trajectories.record.events import ActionStarted, CallFinished, InheritedReply, Message


def inheritance(parent: Standing, order: Order, started: Started) -> tuple[Turn, ...]:
    """Return the parent's conversation, with the child's own system message and task if the prompt is another one.

    That includes a model which is asked for its commands in another form than the parent's model was, and a parent
    that another program asked for fenced blocks of its own.
    """
    has_task = any(isinstance(event, Message) and event.why == "task" for event in parent.taken_in)
    recorded_format = _action_format(parent)
    foreign_fence = parent.start.imported is not None and recorded_format == "fenced"
    other_format = foreign_fence or order.model.info.action_format != recorded_format
    prompt_given = parent.start.imported is None or order.options.prompt is not None
    other_prompt = not has_task or other_format or (prompt_given and order.prompt.sha256 != parent.start.prompt.sha256)
    turns: list[Turn] = []
    if other_prompt:
        turns += [say for say in order.opening(started) if say.why in ("system", "task")]
    for event in parent.taken_in:
        replaced = other_prompt and isinstance(event, Message) and event.why in ("system", "task")
        if isinstance(event, Message | CallFinished | InheritedReply) and not replaced:
            turns.append(event)
    return tuple(turns)


def notice_of_move(parent: Standing, order: Order, started: Started) -> list[Say]:
    """Return the notice that the workspace is at another path than the parent's model was given."""
    is_elsewhere = parent.snapshot is not None and moved(parent, started)
    return [Say("user", order.texts.moved(started.workdir), "notice")] if is_elsewhere else []


def own_opening(order: Order, started: Started, hint: str | None) -> list[Say]:
    """Return a child's own messages: the plan and the hint that it was given."""
    plan = [say for say in order.opening(started) if say.why == "plan"]
    return plan + ([Say("user", hint, "hint")] if hint else [])


def _action_format(standing: Standing) -> str:
    """Return the form of commands that a trial's model was asked for, as its record shows it."""
    setting = standing.start.model.settings.get("action")
    if isinstance(setting, str):
        return setting
    action = next((event for event in standing.taken_in if isinstance(event, ActionStarted)), None)
    return "fenced" if action is not None and action.tool_call_id is None else "tool"
