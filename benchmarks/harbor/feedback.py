"""The feedback on a verdict: its rewards, or the output of the test script."""

from __future__ import annotations

from pathlib import Path

from benchmarks.harbor.evaluation import TESTS_LOG
from benchmarks.judging import feedback
from benchmarks.task.feedback import FeedbackContent
from trajectories.record.events import FeedbackForm
from trajectories.record.verdict import Verdict

_REWARDS = "rewards.txt"


def content(verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
    """Return the feedback on a verdict in a form.

    Raises: FeedbackError.
    """
    if form == "scores" and verdict.status == "scored" and verdict.cause is None:
        lines = [f"{' '.join(key.split())}: {value:g}" for key, value in verdict.metrics.items()]
        return feedback.with_text("\n".join(lines), _REWARDS, {})
    return feedback.feedback(verdict, form, names=False, tests_log=feedback.log(scratch / TESTS_LOG), build_log=None)
