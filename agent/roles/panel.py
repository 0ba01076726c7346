"""One panel about one trial that has ended: the case, the requests, and a recorded vote for each judge.

Judges are asked in threads, a few at once. Votes come after the trial's end and are not part of its own cost.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent.roles.judges import Judges
from agent.trial.session import locked_record
from prompts import Prompt
from trajectories.analysis.integrity.judge import JudgeRequest, JudgeResult
from trajectories.analysis.integrity.report import TrialIntegrity
from trajectories.analysis.integrity.transcript import Transcript, transcript
from trajectories.interrupts import interruptible
from trajectories.record.events import Ask, EnvStarted, Exited, PanelStarted, PriceRef, TextRef, TrialStarted, Voted
from trajectories.record.panel import INTEGRITY, KINDS
from trajectories.record.usage import Costs
from trajectories.writing.recorder import Recorder

_AT_ONCE = 4
"""Number of requests of a panel that are under way together."""


class NotJudged(Exception):
    """No judge was asked; the message is the reason."""


def ask_panel(directory: Path, integrity: TrialIntegrity, judges: Judges) -> bool:
    """Ask a panel about a trial and record it; return True if the user interrupted it.

    Raises: NotJudged; RecordError if the record cannot be written.
    """
    if not judges.budget.may_ask():
        raise NotJudged("the cost limit was reached before")
    with locked_record(directory) as record:
        events = record.read()
        start, last = events[0], events[-1]
        assert isinstance(start, TrialStarted)
        if not any(isinstance(event, Exited) for event in events):
            raise NotJudged("it has not ended (continue it with agent resume)")
        text = transcript(events, {finding.step for finding in integrity.findings})
        workdir = next((event.workdir for event in events if isinstance(event, EnvStarted)), "not known")
        case = _case(judges.prompt, start, integrity, text, workdir)
        numbers = [event.panel for event in events if isinstance(event, PanelStarted)]
        with record.recorder(after=last) as recorder:
            recorder.keep(case.encode())
            started = recorder.append(
                PanelStarted(
                    panel=max(numbers, default=0) + 1,
                    about=INTEGRITY,
                    questions=KINDS,
                    judges=tuple(judge.model for judge in judges.judges),
                    prompt=TextRef(name=judges.prompt.name, sha256=judges.prompt.sha256),
                    case=TextRef(name="case", sha256=hashlib.sha256(case.encode()).hexdigest()),
                    left_out=text.left_out,
                    prices=PriceRef(source=judges.prices.source, sha256=judges.prices.sha256),
                )
            )
            recorder.sync()
            request = JudgeRequest(judges.prompt.render("system"), case, text.last_step, judges.budget.may_ask)
            votes = _Votes(started, recorder)
            for line in _ask_all(judges, request, votes):
                judges.say(f"{directory.name}: {line}")
            return votes.interrupted


def _case(prompt: Prompt, start: TrialStarted, integrity: TrialIntegrity, text: Transcript, workdir: str) -> str:
    network = start.environment_spec.get("network")
    return prompt.render(
        "case",
        task=start.task.id,
        originals=integrity.original,
        workdir=workdir,
        network={True: "on", False: "off"}.get(network, "not known") if isinstance(network, bool) else "not known",
        last_step=text.last_step,
        left_out=text.left_out,
        transcript=text.text,
    )


class _Votes:
    """Records the votes of one panel."""

    def __init__(self, panel: PanelStarted, recorder: Recorder) -> None:
        self.waiting = set(range(1, len(panel.judges) + 1))
        """Numbers of the judges without a vote."""
        self.interrupted = False
        self._panel = panel
        self._recorder = recorder

    def record(self, number: int, result: JudgeResult | Exception) -> str:
        """Record one judge's vote, and return it in a line."""
        if isinstance(result, Exception):
            ask = Ask(error="other", detail=f"{type(result).__name__}: {result}", costs=Costs())
            vote = Voted(panel=self._panel.panel, judge=number, outcome="failed", asks=(ask,))
        else:
            vote = Voted(
                panel=self._panel.panel,
                judge=number,
                outcome=result.outcome,
                answers={str(kind): answer for kind, answer in result.answers.items()},
                asks=tuple(result.asks),
            )
        self._recorder.append(vote)
        self.waiting.discard(number)
        violated = [kind for kind, answer in vote.answers.items() if answer.violated]
        words = ", ".join(violated) or "no violation" if vote.outcome == "valid" else vote.outcome.replace("_", " ")
        judges = self._panel.judges
        return f"judge {number} of {len(judges)} ({judges[number - 1].asked}): {words}"

    def abandon(self, requested: set[int]) -> None:
        """Record the end of the judges that the user interrupted: those with a request under way, and the others."""
        for number in sorted(self.waiting):
            if number in requested:
                ask = Ask(error="interrupted", detail="interrupted by the user", costs=Costs())
                self._recorder.append(Voted(panel=self._panel.panel, judge=number, outcome="failed", asks=(ask,)))
            else:
                self._recorder.append(Voted(panel=self._panel.panel, judge=number, outcome="not_asked"))
        self.interrupted = True


def _ask_all(judges: Judges, request: JudgeRequest, votes: _Votes) -> Iterable[str]:
    """Ask all judges, a few at once; record each vote as it comes, and yield a line for it.

    Threads are daemons: a request that is under way when the user interrupts is abandoned, and recorded as such.
    """
    due: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in sorted(votes.waiting):
        due.put(number)
    results: queue.SimpleQueue[tuple[int, JudgeResult | Exception]] = queue.SimpleQueue()
    requested: set[int] = set()

    def work() -> None:
        with suppress(queue.Empty):
            while not judges.budget.stop.is_set():
                number = due.get_nowait()
                requested.add(number)
                try:
                    results.put((number, judges.judges[number - 1].judge(request)))
                except Exception as error:  # a bug must not leave the panel waiting
                    results.put((number, error))

    for _ in range(min(_AT_ONCE, len(judges.judges))):
        threading.Thread(target=work, name="judge", daemon=True).start()
    came: list[tuple[int, JudgeResult | Exception]] = []
    try:
        while votes.waiting:
            with interruptible():
                came.append(results.get())
            while came:
                yield votes.record(*came.pop())
    except KeyboardInterrupt:
        judges.budget.stop.set()
        while not results.empty():
            came.append(results.get())
        while came:
            yield votes.record(*came.pop())
        votes.abandon(requested)
