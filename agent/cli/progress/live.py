"""The view of a trial in a terminal: a few lines that are redrawn while it runs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from agent.cli.output import stderr
from agent.cli.progress.state import ProgressState
from agent.cli.progress.view import ProgressView
from trajectories.record.events import BaseEvent
from trajectories.record.text import printable
from trajectories.writing import excerpts

if TYPE_CHECKING:
    from rich.console import RenderableType


class LiveView(ProgressView):
    """A live display of the phase, the budget, the newest command and the newest warning."""

    def __init__(self, state: ProgressState) -> None:
        from rich.live import Live
        from rich.spinner import Spinner

        self._state = state
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._render, console=stderr(), refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Remove the display."""
        self._live.stop()

    def feed(self, event: BaseEvent) -> None:
        """Update the state that is drawn."""
        self._state.feed(event)

    def note(self, line: str) -> None:
        """Show the line in place of the phase."""
        self._state.phase = printable(excerpts.masked(line))

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        state = self._state
        self._spinner.update(text=Text(state.phase, "bold"))
        lines: list[RenderableType] = [self._spinner, Text(state.budget(), "dim")]
        if state.command:
            lines.append(Text(f"$ {state.command}   {state.result}", "cyan"))
        if state.warning:
            lines.append(Text(state.warning, "yellow"))
        return Group(*lines)
