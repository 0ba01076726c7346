"""Feedback made of a verdict and of the logs that its evaluation left: one text and a few files of fixed names.

The logs hold what the submission printed, so they are data: nothing here is read back from them. Secrets are masked
before anything is cut, and each file is bounded. A link among the logs is not followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from stat import S_ISREG

from benchmarks.judging.suite_run import BUILD_LOG
from benchmarks.task.feedback import FeedbackContent, FeedbackError
from trajectories.record.events import FeedbackForm
from trajectories.record.texts.text import sendable
from trajectories.record.verdict import Case, Verdict, VerdictCause
from trajectories.writing.masking import Masker

FILE_BYTES = 4 << 20
"""Largest size of a file. Of a larger log, the first and the last half of this are kept."""
TESTS_LOG = "tests.log"
FAILING = "failing.txt"
SCORES = "scores.txt"
CAUSE = "cause.txt"

_CAUSES: Mapping[VerdictCause, str] = {
    "build": "The build failed, so no test ran.",
    "unpacking": "The workspace could not be copied for the tests, so no test ran.",
    "time": "The build or the tests took too long and were ended, so no test counts.",
    "output": "The build or the tests printed too much and were ended, so no test counts.",
    "memory": "The build or the tests ran out of memory, so no test counts.",
    "disk": "The build or the tests filled the disk, so no test counts.",
    "processes": "Processes of the build or of the tested program could not be ended, so no test counts.",
    "program": "The tests could not be started on what the build left, so no test counts.",
    "result": "The tested program made the results of the tests unreadable, so no test counts.",
}
"""Sentences for the causes that decide a verdict in place of the tests. They hold nothing of the tests themselves."""


def feedback(
    verdict: Verdict, form: FeedbackForm, *, names: bool, tests_log: bytes | None, build_log: bytes | None
) -> FeedbackContent:
    """Return the feedback on a verdict. The logs are as `log` returns them; None stands for a missing one.

    `names` allows the names of groups in scores. With a cause, the log of the tests is left out: no test counts, and it
    may hold a mere list of the tests.

    Raises: FeedbackError if the evaluator failed, or if the log that the form needs is missing.
    """
    if verdict.status == "error":
        raise FeedbackError(f"there is no feedback, because the evaluator failed: {verdict.error or 'no reason given'}")
    logs = {BUILD_LOG: build_log} if build_log and build_log.strip() else {}
    if verdict.cause is not None:
        return _of_cause(verdict.cause, logs)
    if form in ("output", "paths"):
        if tests_log is None:
            raise FeedbackError("there is no feedback, because the log of the tests is gone; evaluate the turn again")
        files = {TESTS_LOG: tests_log, **logs}
        return FeedbackContent(_text(tests_log), files, TESTS_LOG) if form == "output" else FeedbackContent("", files)
    if form == "failing":
        return with_text("\n".join(_failing(verdict.cases)), FAILING, logs)
    return with_text("\n".join(_scores(verdict, names=names)), SCORES, logs)


def log(path: Path) -> bytes | None:
    """Return a log with secrets masked, cut in the middle if it is too long; None if there is no such plain file."""
    try:
        with open(path, "rb", opener=_not_a_link) as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode):
                return None
            if status.st_size <= FILE_BYTES:
                return bounded(file.read(FILE_BYTES + 1))
            first = file.read(FILE_BYTES // 2)
            file.seek(-(FILE_BYTES // 2), os.SEEK_END)
            return _joined(first, file.read(FILE_BYTES // 2), status.st_size)
    except OSError:
        return None


def bounded(data: bytes) -> bytes:
    """Return the content of a file with secrets masked, cut in the middle if it is too long."""
    if len(data) <= FILE_BYTES:
        return Masker.from_environment().data(data)[0]
    return _joined(data[: FILE_BYTES // 2], data[-(FILE_BYTES // 2) :], len(data))


def _joined(first: bytes, last: bytes, size: int) -> bytes:
    masker = Masker.from_environment()
    head, tail = masker.beginning(masker.data(first)[0]), masker.ending(masker.data(last)[0])
    return head + b"\n[... %d bytes left out here ...]\n" % (size - len(first) - len(last)) + tail


def _not_a_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _of_cause(cause: VerdictCause, logs: Mapping[str, bytes]) -> FeedbackContent:
    """Return the feedback, the same in all forms, on a submission that decided its verdict itself."""
    text = _CAUSES[cause]
    if cause == "build" and BUILD_LOG in logs:
        text = f"{text}\n\nOutput of the build:\n\n{_text(logs[BUILD_LOG])}"
    elif BUILD_LOG in logs:
        text = f"{text} The output of the build is in {BUILD_LOG}."
    return with_text(text, CAUSE, logs)


def with_text(text: str, name: str, logs: Mapping[str, bytes]) -> FeedbackContent:
    """Return feedback of a text, which is also the content of the file of that name, and of further files."""
    data = bounded((text + "\n").encode("utf-8", "replace"))
    return FeedbackContent(_text(data), {name: data, **logs}, name)


def _text(data: bytes) -> str:
    return sendable(data.decode("utf-8", "replace").strip("\n"))


def _failing(cases: Iterable[Case]) -> Iterator[str]:
    """Yield the lines of the cases that did not pass. Messages are indented, so that none looks like a case."""
    judged = tuple(cases)
    failed = [case for case in judged if case.status != "passed"]
    yield f"{len(judged) - len(failed)} of {len(judged)} tests passed"
    for case in failed:
        yield f"\n{case.status}: {' '.join(case.id.split())}"
        yield from (f"    {line}" for line in case.message.splitlines())


def _scores(verdict: Verdict, *, names: bool) -> Iterator[str]:
    """Yield a line for each group and one for all.

    Without names, groups are numbered in the order of their names, which is the same after every turn.
    """
    groups = verdict.groups if names else dict(sorted(verdict.groups.items()))
    for number, (name, score) in enumerate(groups.items(), 1):
        title = " ".join(name.split()) if names else f"group {number}"
        yield f"{title}: {score.passed} of {score.total} tests passed"
    passed = sum(score.passed for score in groups.values())
    yield f"all: {passed} of {sum(score.total for score in groups.values())} tests passed"
