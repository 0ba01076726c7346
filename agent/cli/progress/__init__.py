"""Progress of a running trial or evaluation, on standard error.

A terminal shows a live view, everything else gets one line for each step. Both are fed with recorded events and with
notes that no event holds. `state` is what they show, `live` and `lines` are the views, `page` are the lines of the live
one and `drawing` draws them. With `--quiet` the view `quiet` shows warnings only. `batches` has the views of a batch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli.progress.drawing import is_drawable
from agent.cli.progress.lines import LineView
from agent.cli.progress.live import LiveView
from agent.cli.progress.person import PersonView
from agent.cli.progress.quiet import QuietView
from agent.cli.progress.state import ProgressState
from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent, Limits

if TYPE_CHECKING:
    from agent.trial.order import Order


@contextmanager
def progress(order: Order, before: Iterable[BaseEvent] = (), part: str = "", *, quiet: bool) -> Iterator[ProgressView]:
    """Show the progress of a trial until the end of the `with`; `before` are the events of a trial that is resumed.

    `part` names the part of a whole that the trial is, such as a turn. With `quiet` only warnings are shown.
    """
    model = order.model.info.ref
    if model.name == "human":
        yield ProgressView() if quiet else PersonView(part)
        return
    title = ", ".join(filter(None, (f"{order.task.id} by {model.asked} in {order.spec.kind}", part)))
    asks_person = order.expert is not None and order.expert.guidance.by == "human"
    with _view(ProgressState(title, order.limits, before, asks_person=asks_person), quiet=quiet) as view:
        yield view


@contextmanager
def progress_of_evaluation(name: str, *, quiet: bool) -> Iterator[ProgressView]:
    """Show the progress of an evaluation by itself until the end of the `with`."""
    with _view(ProgressState(f"evaluation of {name}", Limits()), quiet=quiet) as view:
        yield view


def _view(state: ProgressState, *, quiet: bool) -> ProgressView:
    if quiet:
        return QuietView()
    return LiveView(state, sys.stderr) if is_drawable(sys.stderr) else LineView(state)
