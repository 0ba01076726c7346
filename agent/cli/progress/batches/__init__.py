"""Views of a running batch on standard error: a live table on a terminal, otherwise plain lines.

`page` are the lines of both, and what `agent batch status` prints. With `--quiet` only notes are shown.
"""

from __future__ import annotations

import sys

from agent.batch.state.view import BatchView
from agent.cli.progress.batches.lines import LineBatchView, QuietBatchView
from agent.cli.progress.batches.live import LiveBatchView
from agent.cli.progress.drawing import is_drawable


def view_of_batch(*, quiet: bool) -> BatchView:
    """Return the view of a batch that suits standard error."""
    if quiet:
        return QuietBatchView()
    return LiveBatchView(sys.stderr) if is_drawable(sys.stderr) else LineBatchView()
