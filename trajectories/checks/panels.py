"""Panels of judges and role calls.

Panels and calls are numbered in order, a result belongs to a call, a judge votes at most once and names its calls, and
a valid vote answers all questions.
"""

from __future__ import annotations

from collections.abc import Iterator

from trajectories.record.events import Event, Exited, PanelStarted, RoleCallFinished, RoleCallStarted, Voted


class Panels:
    """Rule `panels`: see the top of the file."""

    name = "panels"

    def __init__(self) -> None:
        self._panel: PanelStarted | None = None
        self._voted: set[int] = set()
        self._calls: dict[int, RoleCallStarted] = {}
        self._results: dict[int, RoleCallFinished] = {}
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
            case RoleCallStarted():
                if event.call != len(self._calls) + 1:
                    yield f"role call {event.call} instead of {len(self._calls) + 1}"
                self._calls[event.call] = event
            case RoleCallFinished():
                if event.call not in self._calls:
                    yield f"a result belongs to role call {event.call}, which has not begun"
                elif event.call in self._results:
                    yield f"role call {event.call} has two results"
                self._results[event.call] = event
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
        if vote.outcome == "not_asked" and vote.calls:
            yield f"judge {vote.judge} was not asked, but has {len(vote.calls)} role calls"
        own = tuple(
            number
            for number, call in self._calls.items()
            if (call.purpose.panel, call.purpose.judge) == (vote.panel, vote.judge)
        )
        if vote.calls != own:
            yield f"the vote of judge {vote.judge} names the role calls {list(vote.calls)}, but its own are {list(own)}"
        results = [self._results[call] for call in vote.calls if call in self._results]
        if vote.outcome in ("valid", "invalid") and not any(result.text is not None for result in results):
            yield f"judge {vote.judge} has a vote, but no reply"
