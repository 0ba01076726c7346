"""The conversation that a fork takes over from its parent, under a prompt of its own if it has another one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from agent.loop.instructions import Say
from agent.trial.order import Order
from agent.trial.restoring.losses import moved
from agent.trial.restoring.standing import Standing
from agent.trial.start import Turn
from environments.protocol import Started
from trajectories.record.events import ActionStarted, BaseEvent, CallFinished, InheritedReply, Message


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
    own = ("guidance",)  # the child has another expert, none, or the same one from the first question on
    if other_prompt:
        turns += [say for say in order.opening(started) if say.why in ("system", "task")]
    for event in parent.taken_in:
        replaced = isinstance(event, Message) and event.why in (("system", "task") if other_prompt else ()) + own
        if isinstance(event, Message | CallFinished | InheritedReply) and not replaced:
            turns.append(event)
    return tuple(_with_all_answers(turns, order))


def _with_all_answers(turns: list[Turn], order: Order) -> Iterator[Turn]:
    """Yield the turns, and after the answers to each reply one for each of its tool calls that has none.

    Providers reject a conversation in which a tool call has no answer. A limit may have ended the parent between two
    commands of a step, and a file of another program may lack results.
    """
    waiting: list[str] = []
    for turn in turns:
        if not isinstance(turn, CallFinished | InheritedReply) and turn.tool_call_id in waiting:
            waiting.remove(turn.tool_call_id)
        else:
            yield from (Say("tool", order.texts.without_result(), "not_executed", id) for id in waiting)
            waiting = []
        yield turn
        if isinstance(turn, CallFinished | InheritedReply):
            waiting = [call.id for call in turn.reply.tool_calls]
    yield from (Say("tool", order.texts.without_result(), "not_executed", id) for id in waiting)


def notice_of_branch(parent: Standing, order: Order, started: Started, lost: Sequence[str]) -> list[Say]:
    """Return the notice of what is otherwise than the parent's model knows: the workspace's path, what is gone, and,
    if the prompt tells that, the limits, which count anew."""
    path = moved(parent, started)
    gone = [line for line in lost if line not in path]
    other_limits = parent.steps > 0 or order.limits != parent.start.limits
    if not path and not gone and not (other_limits and order.texts.tells_limits_of_forks):
        return []
    return [Say("user", order.texts.branched(started.workdir if path else None, gone, order.told_limits), "notice")]


def own_opening(order: Order, started: Started, hint: str | None, conversation: Iterable[BaseEvent]) -> list[Say]:
    """Return a child's own messages: what it is told of its expert, and the plan and the hint that it was given.

    A plan that the conversation before holds already is not said again.
    """
    told = order.plan is not None and gave_plan(order.plan, conversation)
    plan = [say for say in order.opening(started) if say.why == "guidance" or (say.why == "plan" and not told)]
    return plan + ([Say("user", hint, "hint")] if hint else [])


def gave_plan(plan: str, conversation: Iterable[BaseEvent]) -> bool:
    """Report if a conversation has a message with this plan."""
    return any(
        isinstance(event, Message) and event.why == "plan" and plan.strip() in event.content for event in conversation
    )


def _action_format(standing: Standing) -> str:
    """Return the form of commands that a trial's model was asked for, as its record shows it."""
    setting = standing.start.model.settings.get("action")
    if isinstance(setting, str):
        return setting
    action = next((event for event in standing.taken_in if isinstance(event, ActionStarted)), None)
    return "fenced" if action is not None and action.tool_call_id is None else "tool"
