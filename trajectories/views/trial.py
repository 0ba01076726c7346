"""Terminal view of a trial: its head, its steps and its end.

Text from a model or a command is made printable first, since a record may hold escape sequences that attack its reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    Answered,
    Asked,
    BaseEvent,
    CallFailed,
    CallFinished,
    EnvStarted,
    Evaluated,
    Event,
    Exited,
    Feedback,
    InheritedReply,
    Message,
    PanelStarted,
    Paused,
    Reply,
    Resumed,
    Snapshot,
    TrialStarted,
    Voted,
    Warned,
)
from trajectories.record.texts.text import cut_middle, printable, quantity
from trajectories.record.words import WAITS
from trajectories.views.plan import given_plan_line
from trajectories.views.verdict import print_verdict

_RULE_WIDTH = 100
_BRIEF = 600
"""Number of characters of a text in the overview; `--step` shows everything that the model saw."""
_EXPERTS = {"human": "person", "file": "file", "model": "model"}
"""Words for who answers a question."""
_INHERITED = 80
"""Number of characters of a text that a fork inherited from its parent."""


class TrialView:
    """Prints events as they come; with `full`, texts are not cut."""

    def __init__(self, console: Console, *, full: bool = False) -> None:
        self._console = console
        self._full = full
        self._paused: Paused | None = None
        """The pause that the trial is in."""

    def show(self, event: BaseEvent) -> None:
        """Print one event, if it is of interest to a person."""
        match event:
            case TrialStarted():
                self._head(event)
            case EnvStarted():
                where = event.container[:12] if event.container else event.workdir
                user = event.user or "the default user"
                self._note(f"{event.kind} {where} started in {event.seconds:.2f} s as {user}")
                for missing in event.lost:
                    self._note(missing, "yellow")
            case Feedback():
                files = quantity(len(event.files), "file")
                self._note(f"feedback on turn {event.turn} ({event.form}) from {event.source.trial}, {files}")
            case Message():
                self._message(event)
            case InheritedReply():
                self._inherited(f"step {event.step} of the parent", event.reply.text or _commands(event.reply))
            case CallFinished():
                self._reply(event)
            case CallFailed():
                again = f", next try in {event.wait_s:.1f} s" if event.retry else ""
                self._note(f"step {event.step}, try {event.try_} failed: {event.error}: {event.detail}{again}", "red")
            case ActionStarted():
                self._block(f"$ {event.action}", event.command, "bold cyan")
            case ActionFinished():
                self._result(event)
            case Asked():
                self._question(event)
            case Answered():
                self._answer(event)
            case Paused():
                self._paused = event
            case Resumed():
                self._resumed(event)
                self._paused = None
            case Snapshot(complete=False):
                self._note(f"the snapshot of step {event.step} is not whole: {event.why_incomplete}", "yellow")
            case Warned():
                self._note(event.text, "yellow")
            case Exited():
                self._rule(Rule())
                detail = f" ({printable(event.exit.detail)})" if event.exit.detail else ""
                self._console.print(Text(f"exit: {event.exit}{detail}, {quantity(event.steps, 'step')}", "bold"))
            case Evaluated():
                self._verdict(event)
            case PanelStarted():
                models = ", ".join(sorted({judge.asked for judge in event.judges}))
                self._note(
                    f"panel {event.panel} about {event.about}: {quantity(len(event.judges), 'judge')} ({models})"
                )
            case Voted():
                self._vote(event)

    def passing(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield the events, each after it was printed."""
        for event in events:
            self.show(event)
            yield event

    def _head(self, event: TrialStarted) -> None:
        self._rule(Rule(Text(printable(event.trial), "bold")))
        task = f"{event.task.id} ({event.variant})" if event.variant else event.task.id
        line = f"task {task}   model {event.model.asked}   {event.environment}   attempt {event.attempt}"
        self._console.print(Text(printable(line)), soft_wrap=True)
        self._note(f"{event.t or 'time unknown'}   prompt {event.prompt.name}   record {event.schema_version}")
        if (chain := event.chain) is not None:
            of = f" of the chain {chain.first}" if event.turn != 1 else ""
            names = [stage.name for stage in chain.stages[(event.turn or 1) - 1 : event.turn]]
            between = f"feedback {chain.feedback}, conversation {chain.conversation}"
            part = f"stage {event.turn} of {chain.turns}{of}: {', '.join(names)}"
            self._note(
                (part if chain.stages else f"turn {event.turn} of {chain.turns}{of}; {between}")
                + (", until it passes" if chain.until == "passed" else "")
                + (", hidden tests revealed" if event.tests_revealed else "")
            )
        if (guidance := event.guidance) is not None:
            name = guidance.model.asked if guidance.model else guidance.file.name if guidance.file else ""
            expert = " ".join(filter(None, (_EXPERTS[guidance.by], name)))
            self._note(f"expert: {expert}, answers at most {quantity(guidance.max, 'question')}, rule {guidance.rule}")
        if event.imported is not None:
            self._note(f"imported from {event.imported.file} ({event.imported.format}, layout {event.imported.layout})")
            for missing in event.imported.not_said:
                self._note(f"not in the file: {missing}")
        if event.rerun is not None:
            self._note(f"rerun {event.rerun}, replaces {event.replaces}", "yellow")
        if event.plan is not None:
            self._note(given_plan_line(event.plan))
        if event.parent is not None:
            self._note(f"forked from {event.parent.trial} at step {event.parent.step}", "yellow")

    def _resumed(self, event: Resumed) -> None:
        why = None if self._paused is None else self._paused.why
        if self._paused is not None and why in WAITS:
            if (waited_s := event.mono_s - self._paused.mono_s) >= 1:
                self._note(f"waited {waited_s:.0f} s before its next call was admitted")
            return
        if why == "guidance" and event.restored_step is None and not (event.lost or event.rerun):
            return
        line = "resumed after an interruption"
        if event.restored_step is not None:
            line += f"; workspace of step {event.restored_step}"
        if event.rerun:
            line += f"; run again: {', '.join(event.rerun)}"
        if event.lost:
            line += f"; lost: {'; '.join(event.lost)}"
        self._note(line, "yellow")

    def _question(self, event: Asked) -> None:
        left = quantity(event.left - 1, "question") + " left after it" if event.left else "not passed on: none was left"
        self._block(f"? {event.action}   question {event.question} to the expert ({left})", event.text, "bold cyan")

    def _answer(self, event: Answered) -> None:
        if event.status == "nobody":
            self._note("no answer was available", "yellow")
            return
        title = f"answer of the {_EXPERTS[event.by]}"
        if event.status == "given":
            self._block(title, event.text, "green")
            return
        fate = "refused" if event.status == "refused" else "replaced by a fixed text"
        self._block(
            f"{title}, try {event.try_}: {fate} ({event.broken or event.rule})", event.line or event.text, "red"
        )

    def _inherited(self, title: str, text: str) -> None:
        """Print a part of the parent's conversation: dimmed, and short in the overview."""
        shown = text if self._full else cut_middle(" ".join(text.split()), _INHERITED)
        self._console.print(Text(printable(f"inherited {title}: {shown}"), "dim"), soft_wrap=True)

    def _message(self, event: Message) -> None:
        if event.inherited:
            self._inherited(f"{event.role}: {event.why}", event.content)
            return
        if event.why in ("observation", "answer") and not self._full:
            return  # the result, or the answer, above shows the same
        self._block(f"{event.role}: {event.why}", event.content, "magenta")

    def _reply(self, event: CallFinished) -> None:
        usage = event.usage
        tokens = f"{usage.prompt} + {usage.output or 0} tokens" if usage else "usage unknown"
        cost = "" if event.costs.best is None else f"   ${event.costs.best:.4f}"
        self._rule(Rule(Text(f"step {event.step}"), style="dim"))
        latency = "" if event.latency_s is None else f"{event.latency_s:.2f} s   "
        self._note(f"{latency}{tokens}{cost}")
        if event.reply.text.strip():
            self._block("model", event.reply.text, "green")
        if event.reply.refusal:
            self._block("refusal", event.reply.refusal, "red")

    def _result(self, event: ActionFinished) -> None:
        if event.signal is not None:
            status = f"signal {event.signal}"
        elif event.exit_code is not None:
            status = f"exit {event.exit_code}"
        else:
            status = event.ended
        ended = "" if event.ended in ("exited", status) else f", {event.ended}"
        good = event.exit_code == 0 and event.ended == "exited"
        took = "" if event.duration_s is None else f"{event.duration_s:.2f} s   "
        line = f"{status}{ended}   {took}{event.output.bytes} bytes"
        text = "" if self._full else event.output.text  # in full, the observation shows it as the model saw it
        self._block(line, text, "dim" if good else "red")

    def _verdict(self, event: Evaluated) -> None:
        if event.verdict is None:
            self._note(f"no verdict: {event.why_none}", "red")
        else:
            print_verdict(self._console, event.verdict)

    def _vote(self, event: Voted) -> None:
        violated = ", ".join(question for question, answer in event.answers.items() if answer.violated)
        if event.answers:
            vote = f"violated: {violated}" if violated else "no violation"
        else:
            vote = event.outcome.replace("_", " ")
        self._note(f"panel {event.panel}, judge {event.judge}: {vote}", "yellow" if violated else "dim")

    def _rule(self, rule: Rule) -> None:
        self._console.print(rule, width=min(self._console.width, _RULE_WIDTH))

    def _block(self, title: str, text: str, style: str) -> None:
        self._console.print(Text(printable(title), style))
        shown = text if self._full else cut_middle(text, _BRIEF)
        if shown:
            self._console.print(Text(printable(shown.rstrip("\n"))), soft_wrap=True)

    def _note(self, text: str, style: str = "dim") -> None:
        self._console.print(Text(printable(text), style))


def _commands(reply: Reply) -> str:
    return "; ".join(call.arguments for call in reply.tool_calls)
