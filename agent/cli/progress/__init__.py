"""Progress of a running trial, on standard error: a live view in a terminal, otherwise one line per step.

Both views are fed with the recorded events only. `state` is what they show, `live` and `lines` are the views.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli.progress.lines import LineView
from agent.cli.progress.live import LiveView
from agent.cli.progress.state import ProgressState
from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent

if TYPE_CHECKING:
    from agent.trial.order import Order


@contextmanager
def progress(order: Order, before: Iterable[BaseEvent] = ()) -> Iterator[ProgressView]:
    """Show the progress of a trial until the end of the `with`; `before` are the events of a trial that is resumed."""
    with _view(order, before) as view:
        yield view


def _view(order: Order, before: Iterable[BaseEvent]) -> ProgressView:
    if order.model.info.ref.name == "human":
        return ProgressView()  # the person sees the trial itself
    state = ProgressState(order.limits, before)
    return LiveView(state) if sys.stderr is not None and sys.stderr.isatty() else LineView(state)
