"""The feedback on a turn: for LongCLI-Bench, as its authors give it, the output of both test sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from benchmarks.judging import feedback
from benchmarks.task.feedback import FeedbackContent, shows_names
from benchmarks.task.task import Task
from benchmarks.terminalbench import test_sets
from benchmarks.terminalbench.evaluation import TESTS_LOG
from trajectories.record.events import FeedbackForm
from trajectories.record.verdict import Verdict

_OUTPUT = "output.txt"
"""Name of the file with the outputs of both sets."""


def content(task: Task, verdict: Verdict, scratch: Path, form: FeedbackForm) -> FeedbackContent:
    """Return the feedback on a verdict in a form.

    Raises: FeedbackError.
    """
    if task.result == "workspace" and form in ("paths", "output") and verdict.status == "scored" and not verdict.cause:
        outputs = {name: _output(scratch, name) for name in test_sets.SETS}
        files = {f"{name}_output.txt": data for name, data in outputs.items() if data is not None}
        if files:
            return feedback.with_text(_inline(outputs), _OUTPUT, {}) if form == "output" else FeedbackContent("", files)
    return feedback.feedback(
        verdict,
        form,
        names=shows_names(task.feedback),
        tests_log=feedback.log(scratch / TESTS_LOG),
        build_log=None,
    )


def _output(scratch: Path, name: test_sets.SetName) -> bytes | None:
    return feedback.log(scratch / Path(test_sets.output_file(name)).name)


def _inline(outputs: Mapping[test_sets.SetName, bytes | None]) -> str:
    """Return the outputs between the marks of the authors' prompt."""
    parts = []
    for name, data in outputs.items():
        text = f"<no {name} output captured>" if data is None else data.decode("utf-8", "replace").strip("\n")
        parts.append(f"<<BEGIN_{name.upper()}>>\n{text}\n<<END_{name.upper()}>>")
    return "\n\n".join(parts)
