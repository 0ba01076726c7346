"""One panel about one finished trial: what the judges are given, asking them, and recording each vote as it comes.

Judges are asked in threads, a few at once. Votes stand after the trial's end and are no part of its own cost.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from agent.roles.judges import Bench
from prompts import Prompt
from trajectories.analysis.integrity.judge import JudgeRequest, JudgeResult
from trajectories.analysis.integrity.report import TrialIntegrity
from trajectories.analysis.integrity.transcript import Transcript, transcript
from trajectories.interrupts import held, interruptible
from trajectories.reading.reader import read_events
from trajectories.record.events import Ask, EnvStarted, Exited, PanelStarted, PriceRef, TextRef, TrialStarted, Voted
from trajectories.record.layout import TrialFolder
from trajectories.record.panel import INTEGRITY, KINDS
from trajectories.record.usage import Costs
from trajectories.writing.lock import TrialLock
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

_AT_ONCE = 4
"""Requests of a panel that are under way together."""


class NotJudged(Exception):
    """No judge was asked; the message says why."""


def sit(directory: Path, found: TrialIntegrity, bench: Bench, say: Callable[[str], None]) -> bool:
    """Ask a panel about a trial and record it; whether the user interrupted it.

    Raises: NotJudged; RecordError if the record cannot be written.
    """
    if not bench.purse.may_ask():
        raise NotJudged("the cost limit was reached before")
    with held(), TrialLock(directory):
        events = list(read_events(directory))
        start, last = events[0], events[-1]
        assert isinstance(start, TrialStarted)
        if not any(isinstance(event, Exited) for event in events):
            raise NotJudged("it has not ended (agent resume goes on with it)")
        read = transcript(events, {finding.step for finding in found.findings})
        workdir = next((event.workdir for event in events if isinstance(event, EnvStarted)), "not known")
        case = _case(bench.prompt, start, found, read, workdir)
        numbers = [event.panel for event in events if isinstance(event, PanelStarted)]
        pool = TrialFolder(directory).pool
        recorder = Recorder(
            directory, masker=Masker.from_environment(), pool=pool if pool.is_dir() else None, after=last
        )
        try:
            recorder.keep(case.encode())
            panel = recorder.append(
                PanelStarted(
                    panel=max(numbers, default=0) + 1,
                    about=INTEGRITY,
                    questions=KINDS,
                    judges=tuple(judge.model for judge in bench.judges),
                    prompt=TextRef(name=bench.prompt.name, sha256=bench.prompt.sha256),
                    case=TextRef(name="case", sha256=hashlib.sha256(case.encode()).hexdigest()),
                    left_out=read.left_out,
                    prices=PriceRef(source=bench.prices.source, sha256=bench.prices.sha256),
                )
            )
            recorder.sync()
            sitting = JudgeRequest(bench.prompt.render("system"), case, read.last_step, bench.purse.may_ask)
            return _collect(panel, recorder, bench, sitting, lambda line: say(f"{directory.name}: {line}"))
        finally:
            recorder.close()


def _case(prompt: Prompt, start: TrialStarted, found: TrialIntegrity, read: Transcript, workdir: str) -> str:
    network = start.environment_spec.get("network")
    return prompt.render(
        "case",
        task=start.task.id,
        originals=found.original,
        workdir=workdir,
        network={True: "on", False: "off"}.get(network, "not known") if isinstance(network, bool) else "not known",
        last_step=read.last_step,
        left_out=read.left_out,
        transcript=read.text,
    )


def _collect(
    panel: PanelStarted, recorder: Recorder, bench: Bench, sitting: JudgeRequest, say: Callable[[str], None]
) -> bool:
    """Ask all judges, a few at once, and record each vote as it comes; whether the user interrupted.

    Threads are daemons: a request that is under way when the user interrupts is abandoned, and recorded as such.
    """
    due: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(1, len(bench.judges) + 1):
        due.put(number)
    came: queue.SimpleQueue[tuple[int, JudgeResult | Exception]] = queue.SimpleQueue()
    asked: set[int] = set()

    def work() -> None:
        with suppress(queue.Empty):
            while not bench.purse.stop.is_set():
                number = due.get_nowait()
                asked.add(number)
                try:
                    came.put((number, bench.judges[number - 1].judge(sitting)))
                except Exception as error:  # a defect must not leave the panel waiting
                    came.put((number, error))

    for _ in range(min(_AT_ONCE, len(bench.judges))):
        threading.Thread(target=work, name="judge", daemon=True).start()
    waiting = set(range(1, len(bench.judges) + 1))
    got: list[tuple[int, JudgeResult | Exception]] = []

    def take() -> None:
        while got:
            number, said = got.pop()
            _record(panel, recorder, number, said, say)
            waiting.discard(number)

    try:
        while waiting:
            with interruptible():
                got.append(came.get())
            take()
    except KeyboardInterrupt:
        bench.purse.stop.set()
        take()
        while not came.empty():
            got.append(came.get())
            take()
        _abandon(panel, recorder, waiting, asked)
        return True
    return False


def _record(
    panel: PanelStarted, recorder: Recorder, number: int, said: JudgeResult | Exception, say: Callable[[str], None]
) -> None:
    if isinstance(said, Exception):
        ask = Ask(error="other", detail=f"{type(said).__name__}: {said}", costs=Costs())
        vote = Voted(panel=panel.panel, judge=number, outcome="failed", asks=(ask,))
    else:
        vote = Voted(
            panel=panel.panel,
            judge=number,
            outcome=said.outcome,
            answers={str(kind): answer for kind, answer in said.answers.items()},
            asks=tuple(said.asks),
        )
    recorder.append(vote)
    violated = [kind for kind, answer in vote.answers.items() if answer.violated]
    words = ", ".join(violated) or "no violation" if vote.outcome == "valid" else vote.outcome.replace("_", " ")
    say(f"judge {number} of {len(panel.judges)} ({panel.judges[number - 1].asked}): {words}")


def _abandon(panel: PanelStarted, recorder: Recorder, waiting: Iterable[int], asked: set[int]) -> None:
    for number in sorted(waiting):
        if number in asked:
            ask = Ask(error="interrupted", detail="interrupted by the user", costs=Costs())
            recorder.append(Voted(panel=panel.panel, judge=number, outcome="failed", asks=(ask,)))
        else:
            recorder.append(Voted(panel=panel.panel, judge=number, outcome="not_asked"))
