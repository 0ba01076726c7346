"""The choice of the form of feedback between turns: a form that gives hidden tests away must be asked for."""

from __future__ import annotations

from agent.errors import UserError
from benchmarks.task.task import Task
from trajectories.record.events import FeedbackForm


def check_form(task: Task, form: FeedbackForm | None, *, reveal: bool) -> FeedbackForm:
    """Return the form of feedback for a task, by default the task's own.

    Raises: UserError if the task has no feedback, if it forbids this form, or if `--reveal-tests` reveals nothing.
    """
    if not task.evaluable or not (task.feedback or task.feedback_revealing):
        raise UserError(f"{task.id} has no tests, so there is no feedback between turns; leave out --self-correct")
    if form is None and not task.feedback:
        forms = ", ".join(task.feedback_revealing)
        raise UserError(f"{task.id} allows no feedback; choose one of {forms} with --feedback and add --reveal-tests")
    chosen = form or task.feedback[0]
    if reveals_tests(task, chosen) and not reveal:
        allowed = f"; allowed: {', '.join(task.feedback)}" if task.feedback else ""
        raise UserError(
            f"--feedback {chosen} would give the hidden tests of {task.id} away{allowed}; add --reveal-tests to use it "
            "all the same, in a trial that the benchmark's own tables leave out"
        )
    if reveal and not reveals_tests(task, chosen):
        raise UserError(f"--reveal-tests does not apply to --feedback {chosen}: {task.id} allows it; leave it out")
    return chosen


def reveals_tests(task: Task, form: FeedbackForm) -> bool:
    """Return True if feedback in this form gives hidden tests of the task away (`trial_started.tests_revealed`)."""
    return form not in task.feedback
