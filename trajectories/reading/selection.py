"""Selects trials by task, model, benchmark, label and time, from their summaries alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from trajectories.reading.runs import Listed
from trajectories.reading.summary import Summary
from trajectories.record.texts.text import quantity

_NAMED = 8
"""Number of values that a message lists."""


@dataclass(frozen=True, kw_only=True)
class TrialFilter:
    """Conditions on trials. A trial meets them all; of several patterns for one property it matches any.

    A pattern is a name or a glob (`*`, `?`, `[...]`), for the whole name or for its part after the last `/`.
    """

    tasks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Patterns for the model as it was asked for, or for its full name."""
    benchmarks: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """Patterns for the label that the user gave to a trial."""
    since: str = ""
    """Earliest start of a trial: a UTC time in ISO 8601, compared as text."""
    limit: int | None = None
    """Largest number of trials, taken in the order in which they are given."""

    @property
    def patterns(self) -> Mapping[str, tuple[str, ...]]:
        """The patterns by property, without properties that may have any value."""
        every = {"task": self.tasks, "model": self.models, "benchmark": self.benchmarks, "label": self.labels}
        return {name: patterns for name, patterns in every.items() if patterns}

    @property
    def has_conditions(self) -> bool:
        """True if not every trial is selected, apart from the limit."""
        return bool(self.patterns or self.since)

    def __str__(self) -> str:
        """Return the conditions as they are typed."""
        conditions = [f"--{name} {' or '.join(map(repr, patterns))}" for name, patterns in self.patterns.items()]
        conditions += [f"--since {self.since}"] if self.since else []
        conditions += [f"--limit {self.limit}"] if self.limit is not None else []
        return ", ".join(conditions)


EVERY = TrialFilter()
"""The filter that selects all trials."""


def fits(pattern: str, name: str) -> bool:
    """Return True if the pattern is this name, or a glob for it or for its part after the last `/`."""
    return any(pattern == text or fnmatchcase(text, pattern) for text in (name, name.rpartition("/")[2]))


class Selection:
    """Selects trials one at a time, and remembers what there was: a message for a selection that matches nothing."""

    def __init__(
        self, wanted: TrialFilter, benchmark: Callable[[Summary], str] = lambda summary: summary.entry.benchmark
    ) -> None:
        """`benchmark` returns the benchmark that a trial belongs to."""
        self._wanted = wanted
        self._benchmark = benchmark
        self._patterns = wanted.patterns
        self._every: dict[str, Counter[str]] = {name: Counter() for name in self._patterns}
        """By property, the values of all trials."""
        self._nearest: dict[str, Counter[str]] = {name: Counter() for name in self._patterns}
        """By property, the values of the trials that meet all other conditions."""
        self._newest_start = ""
        """Last start of a trial that meets all other conditions."""
        self.matching = 0
        """Number of trials that were selected."""
        self.unreadable: list[Listed] = []
        """Trials that were left out because nothing is known about them."""

    def of(self, trials: Iterable[Listed]) -> Iterator[Listed]:
        """Yield the trials that meet the conditions, up to the limit.

        Trials that cannot be read are yielded if there are no conditions; they do not count towards the limit.
        """
        for trial in trials:
            if trial.summary is None:
                if self._wanted.has_conditions:
                    self.unreadable.append(trial)
                else:
                    yield trial
            elif self._meets(trial.summary):
                self.matching += 1
                yield trial
                if self.matching == self._wanted.limit:
                    return

    def _meets(self, summary: Summary) -> bool:
        names = {
            "task": (summary.task,),
            "model": (summary.model, summary.entry.model),  # the first one is shown in messages
            "benchmark": (self._benchmark(summary),),
            "label": () if summary.label is None else (summary.label,),
        }
        failed = {
            name
            for name, patterns in self._patterns.items()
            if not any(fits(pattern, value) for pattern in patterns for value in names[name])
        }
        if summary.started < self._wanted.since:
            failed.add("since")
        for name in self._patterns:
            self._every[name].update(names[name][:1])
            if failed <= {name}:
                self._nearest[name].update(names[name][:1])
        if failed <= {"since"}:
            self._newest_start = max(self._newest_start, summary.started)
        return not failed

    def nothing(self) -> str:
        """Return the message of a selection that matched nothing: the condition that fails, and what there is."""
        asked = f"no trial matches {replace(self._wanted, limit=None)}"
        if self._newest_start:
            return f"{asked}; the newest one otherwise began at {self._newest_start}"
        for name, patterns in self._patterns.items():
            if not any(fits(pattern, value) for pattern in patterns for value in self._every[name]):
                return f"{asked}; {_there_are(name, self._every[name])}"
        for name, values in self._nearest.items():
            if values:
                return f"{asked}; with the other conditions {_there_are(name, values)}"
        return f"{asked}, although each of them matches some trials"


def _there_are(name: str, values: Counter[str]) -> str:
    if not values:
        return f"no trial has a {name}"
    return f"there are the {name}s {_counted(values)}"


def _counted(values: Counter[str]) -> str:
    """Return names with their numbers of trials, for a message; of many names the most frequent."""
    ordered = sorted(values.items(), key=lambda item: (-item[1], item[0]))
    texts = [f"{value} ({quantity(count, 'trial')})" for value, count in ordered[:_NAMED]]
    more = len(values) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")
