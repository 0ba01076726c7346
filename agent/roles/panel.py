"""One panel about one trial that has ended: the case, the requests, and a recorded vote for each judge.

Judges are asked in threads, a few at once. Votes come after the trial's end and are not part of its own cost.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from agent.roles.calls import Ended, PurposeJournal, RoleCalls
from agent.roles.judges import Judges
from agent.trial.session import locked_record
from prompts import Prompt
from trajectories.analysis.integrity.judge import JudgeRequest, JudgeResult
from trajectories.analysis.integrity.report import TrialIntegrity
from trajectories.analysis.integrity.transcript import Transcript, transcript
from trajectories.interrupts import interruptible
from trajectories.record.events import (
    EnvStarted,
    Exited,
    PanelStarted,
    PriceRef,
    Purpose,
    TextRef,
    TrialStarted,
    Voted,
)
from trajectories.record.panel import INTEGRITY, KINDS

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
            votes = _Votes(started, RoleCalls.after(events, recorder))
            system, may_ask = judges.prompt.render("system"), judges.budget.may_ask
            requests = {
                number: JudgeRequest(system, case, text.last_step, may_ask, votes.journal(number))
                for number in sorted(votes.waiting)
            }
            for line in _ask_all(judges, requests, votes):
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

    def __init__(self, panel: PanelStarted, calls: RoleCalls) -> None:
        self.waiting = set(range(1, len(panel.judges) + 1))
        """Numbers of the judges without a vote."""
        self.interrupted = False
        self.panel = panel
        self.calls = calls

    def purpose(self, number: int) -> Purpose:
        """Return the purpose of the role calls of a judge."""
        return Purpose(panel=self.panel.panel, judge=number)

    def journal(self, number: int) -> PurposeJournal:
        """Return the record of the requests to a judge."""
        return PurposeJournal(self.calls, "judge", self.purpose(number), self.panel.prompt)

    def record(self, number: int, result: JudgeResult | Exception) -> str:
        """Record one judge's vote, and return it in a line."""
        if isinstance(result, Exception):
            self.calls.fail(self.purpose(number), f"{type(result).__name__}: {result}")
            vote = self._vote(number, JudgeResult("failed"))
        else:
            vote = self._vote(number, result)
        violated = [kind for kind, answer in vote.answers.items() if answer.violated]
        words = ", ".join(violated) or "no violation" if vote.outcome == "valid" else vote.outcome.replace("_", " ")
        judges = self.panel.judges
        return f"judge {number} of {len(judges)} ({judges[number - 1].asked}): {words}"

    def abandon(self) -> None:
        """Record the end of the judges that the user interrupted: those with a request under way, and the others."""
        self.calls.end()
        for number in sorted(self.waiting):
            self._vote(number, JudgeResult("failed" if self.calls.of(self.purpose(number)) else "not_asked"))
        self.interrupted = True

    def _vote(self, number: int, result: JudgeResult) -> Voted:
        vote = Voted(
            panel=self.panel.panel,
            judge=number,
            outcome=result.outcome,
            answers={str(kind): answer for kind, answer in result.answers.items()},
            calls=self.calls.of(self.purpose(number)),
        )
        self.calls.append(vote)
        self.waiting.discard(number)
        return vote


def _ask_all(judges: Judges, requests: Mapping[int, JudgeRequest], votes: _Votes) -> Iterable[str]:
    """Ask all judges, a few at once; record each vote as it comes, and yield a line for it.

    Threads are daemons: a request that is under way when the user interrupts is abandoned, and recorded as such.
    """
    due: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in sorted(votes.waiting):
        due.put(number)
    results: queue.SimpleQueue[tuple[int, JudgeResult | Exception]] = queue.SimpleQueue()

    def work() -> None:
        with suppress(queue.Empty):
            while not judges.budget.stop.is_set():
                number = due.get_nowait()
                try:
                    results.put((number, judges.judges[number - 1].judge(requests[number])))
                except Ended:
                    return
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
        votes.abandon()
