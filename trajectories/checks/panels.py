"""Panels of judges: they are numbered in order, a judge votes at most once, a valid vote answers all questions."""

from __future__ import annotations

from collections.abc import Iterator

from trajectories.record.events import Event, Exited, PanelStarted, Voted


class Panels:
    """Rule `panels`: see the top of the file."""

    name = "panels"

    def __init__(self) -> None:
        self._panel: PanelStarted | None = None
        self._voted: set[int] = set()
        self._exited = False

    def feed(self, event: Event) -> Iterator[str]:
        match event:
            case Exited():
                self._exited = True
            case PanelStarted():
                expected = 1 if self._panel is None else self._panel.panel + 1
                if event.panel != expected:
                    yield f"panel {event.panel} instead of {expected}"
                if not self._exited:
                    yield f"panel {event.panel} begins before the exit"
                if not event.judges or not event.questions:
                    yield f"panel {event.panel} has no judges or no questions"
                self._panel, self._voted = event, set()
            case Voted():
                yield from self._vote(event)

    def end(self) -> Iterator[str]:
        return iter(())

    def _vote(self, vote: Voted) -> Iterator[str]:
        panel = self._panel
        if panel is None or vote.panel != panel.panel:
            yield f"a vote belongs to panel {vote.panel}, which has not begun"
            return
        if not 1 <= vote.judge <= len(panel.judges):
            yield f"a vote comes from judge {vote.judge} of a panel of {len(panel.judges)}"
        if vote.judge in self._voted:
            yield f"judge {vote.judge} votes twice in panel {panel.panel}"
        self._voted.add(vote.judge)
        expected = set(panel.questions) if vote.outcome == "valid" else set()
        if set(vote.answers) != expected:
            yield f"judge {vote.judge}: a vote with the outcome {vote.outcome} has {len(vote.answers)} answers"
        if vote.outcome == "not_asked" and vote.asks:
            yield f"judge {vote.judge} was not asked, but has {len(vote.asks)} requests"
        if vote.outcome in ("valid", "invalid") and not any(ask.text is not None for ask in vote.asks):
            yield f"judge {vote.judge} has a vote, but no reply"
