"""A trial in the terminal: a head, its steps, its end.

Everything that came from a model or a command is made printable first: a record may hold escape
sequences meant for whoever looks at it.
"""

from __future__ import annotations

from rich.console import Console
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from trajectories.reading.summary import Summary
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    CallFinished,
    EnvStarted,
    Evaluated,
    Exited,
    InheritedReply,
    Message,
    PanelStarted,
    Reply,
    Resumed,
    TrialStarted,
    Voted,
    Warned,
)
from trajectories.record.text import cut_middle, printable, quantity
from trajectories.record.verdict import Verdict

_RULE_WIDTH = 100
_BRIEF = 600
_NOTE = 600
"""Characters of a text in the overview; `--step` shows all that the model saw."""
_INHERITED = 80
"""The same of what a fork has from its parent."""


class TrialView:
    """Prints events as they come; `full` shows texts whole."""

    def __init__(self, console: Console, *, full: bool = False) -> None:
        self._console = console
        self._full = full

    def show(self, event: BaseEvent) -> None:
        """Print one event, if it says something to a person."""
        match event:
            case TrialStarted():
                self._head(event)
            case EnvStarted():
                where = event.container[:12] if event.container else event.workdir
                self._note(f"{event.kind} {where} started in {event.seconds:.2f} s as {event.user or 'its own user'}")
                for lost in event.lost:
                    self._note(lost, "yellow")
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
                self._block(f"$ {event.action}", event.script, "bold cyan")
            case ActionFinished():
                self._result(event)
            case Resumed():
                self._resumed(event)
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

    def _head(self, event: TrialStarted) -> None:
        self._rule(Rule(Text(printable(event.trial), "bold")))
        task = f"{event.task.id} ({event.variant})" if event.variant else event.task.id
        line = f"task {task}   model {event.model.asked}   {event.environment}   attempt {event.attempt}"
        self._console.print(Text(printable(line)), soft_wrap=True)
        self._note(f"{event.t or 'time unknown'}   prompt {event.prompt.name}   record {event.schema_version}")
        if event.imported is not None:
            self._note(f"imported from {event.imported.file} ({event.imported.format}, layout {event.imported.layout})")
            for missing in event.imported.not_said:
                self._note(f"not in the file: {missing}")
        if event.parent is not None:
            self._note(f"forked from {event.parent.trial} at step {event.parent.step}", "yellow")

    def _resumed(self, event: Resumed) -> None:
        line = "resumed after being down"
        if event.restored_step is not None:
            line += f"; workspace of step {event.restored_step}"
        if event.rerun:
            line += f"; run again: {', '.join(event.rerun)}"
        if event.lost:
            line += f"; lost: {'; '.join(event.lost)}"
        self._note(line, "yellow")

    def _inherited(self, title: str, text: str) -> None:
        """What belongs to the conversation of the parent: dimmed and short, unless it is all that is looked at."""
        shown = text if self._full else cut_middle(" ".join(text.split()), _INHERITED)
        self._console.print(Text(printable(f"inherited {title}: {shown}"), "dim"), soft_wrap=True)

    def _message(self, event: Message) -> None:
        if event.inherited:
            self._inherited(f"{event.role}: {event.why}", event.content)
            return
        if event.why == "observation" and not self._full:
            return  # the result above it says the same
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
            how = f"signal {event.signal}"
        elif event.exit_code is not None:
            how = f"exit {event.exit_code}"
        else:
            how = event.ended
        ended = "" if event.ended in ("exited", how) else f", {event.ended}"
        good = event.exit_code == 0 and event.ended == "exited"
        took = "" if event.duration_s is None else f"{event.duration_s:.2f} s   "
        line = f"{how}{ended}   {took}{event.output.bytes} bytes"
        text = "" if self._full else event.output.text  # in full, the observation says it as the model saw it
        self._block(line, text, "dim" if good else "red")

    def _verdict(self, event: Evaluated) -> None:
        if event.verdict is None:
            self._note(f"no verdict: {event.why_none}", "red")
        else:
            print_verdict(self._console, event.verdict)

    def _vote(self, event: Voted) -> None:
        found = ", ".join(question for question, answer in event.answers.items() if answer.violated)
        said = (
            event.outcome.replace("_", " ") if not event.answers else f"violated: {found}" if found else "no violation"
        )
        self._note(f"panel {event.panel}, judge {event.judge}: {said}", "yellow" if found else "dim")

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


def print_verdict(console: Console, verdict: Verdict) -> None:
    """The verdict in a line, its groups with what passed, and its notes."""
    if verdict.status == "error":
        console.print(Text(f"no verdict: the evaluator failed: {printable(verdict.error)}", "red"))
        _print_notes(console, verdict)
        return
    word = "passed" if verdict.passed else "not passed"
    console.print(Text(f"verdict: {word}, quality {verdict.quality:.3f}", "bold"))
    table = Table(box=None, pad_edge=False)
    table.add_column("group")
    table.add_column("passed", justify="right")
    table.add_column("total", justify="right")
    for name, group in verdict.groups.items():
        table.add_row(Text(printable(name)), str(group.passed), str(group.total))
    console.print(table)
    _print_notes(console, verdict)


def _print_notes(console: Console, verdict: Verdict) -> None:
    for note in verdict.notes:
        console.print(Text(printable(f"note: {' '.join(cut_middle(note, _NOTE).split())}"), "yellow"), soft_wrap=True)


def summary_table(summary: Summary) -> Table:
    """What a trial used: the last thing `agent solve` shows."""
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="dim")
    table.add_column()
    exit = f"{summary.exit.reason}: {summary.exit.cause}" if summary.exit else "not closed"
    if summary.exit and summary.exit.detail:
        exit += f" ({summary.exit.detail})"
    usage, cost = summary.usage, summary.cost_usd
    rows = [
        ("trial", summary.trial),
        ("exit", exit),
        ("steps", f"{summary.steps} ({summary.commands} commands, {summary.failed_calls} failed calls)"),
        (
            "tokens",
            f"input {_tokens(usage.input)}, cache read {_tokens(usage.cache_read)}, output {_tokens(usage.output)}",
        ),
        ("cost", f"billed {_usd(cost.billed)}, computed {_usd(cost.computed)}, list {_usd(cost.list)}"),
        ("time", f"{_seconds(summary.wall_s)}, {_seconds(summary.working_s)} of it working"),
    ]
    for name, value in rows:
        table.add_row(name, Text(printable(value), overflow="fold"))
    return table


def _tokens(count: int | None) -> str:
    return "unknown" if count is None else f"{count:,}"


def _seconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:.1f} s"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:.4f}"
