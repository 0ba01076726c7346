"""Tables about violations: their share by configuration and kind, and the votes of each panel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean

from scoring.agentmeter.ams import outcomes_of
from scoring.choices import AttemptRule, IntegrityBy
from scoring.integrity import zeroed
from scoring.report import PanelRow, ViolationsRow
from scoring.rows import TrialRow
from scoring.selecting.selection import by_setup, labels, scored_attempts
from scoring.statistics.diagnostics import headline
from scoring.statistics.intervals import Estimate, rate
from trajectories.record.panel import KINDS, Kind


class ViolationsTable:
    """The trials that count if flagged ones are treated as all others, and all tasks of the benchmark."""

    def __init__(self, rows: Sequence[TrialRow], tasks: Sequence[str], *, attempts: AttemptRule, level: float) -> None:
        self._names, self._members = labels(rows), by_setup(rows)
        self._tasks = sorted({row.task for row in rows} | set(tasks))
        self._chosen = scored_attempts(rows, attempts)
        self._level = level

    def rows(self, by: IntegrityBy | None) -> Iterator[ViolationsRow]:
        """Yield a row for each configuration with a trial that was examined; `by` is the evidence that flags trials."""
        for setup, trials in self._members.items():
            examined = [row for row in trials if row.flagged is not None]
            if not examined:
                continue
            panels = [row.evidence.panel for row in trials if row.evidence.panel is not None]
            agreed = [panel.unanimous for panel in panels if panel.unanimous is not None]
            looked = [row.evidence.tampered for row in trials if row.evidence.tampered is not None]
            yield ViolationsRow(
                setup=setup,
                label=self._names[setup],
                trials=len(trials),
                examined=len(examined),
                flagged=self._share(examined, lambda row: bool(row.flagged)),
                by_kind={kind: self._share(examined, partial(_shows, kind, by)) for kind in KINDS},
                tampered=sum(looked) if looked else None,
                panels=len(panels),
                disagreement=1 - sum(agreed) / len(agreed) if agreed else None,
                resolved=self._resolved(self._chosen[setup]),
                resolved_unflagged=self._resolved([zeroed(row) if row.flagged else row for row in self._chosen[setup]]),
            )

    def panels(self) -> Iterator[PanelRow]:
        """Yield a row for each trial with a panel, in the order of configurations and tasks."""
        for setup, trials in self._members.items():
            for row in trials:
                evidence, votes = row.evidence, row.evidence.panel
                if votes is None:
                    continue
                yield PanelRow(
                    setup=setup,
                    label=self._names[setup],
                    task=row.task,
                    trial=row.trial,
                    judges=votes.judges,
                    valid=votes.valid,
                    violated=votes.violated,
                    by_kind={str(kind): votes.by_kind.get(kind, 0) for kind in KINDS},
                    unanimous=votes.unanimous,
                    panel_flagged=votes.flagged,
                    rules_flagged=None if evidence.rules is None else bool(evidence.rules.violated),
                    tampered=evidence.tampered,
                    flagged=row.flagged,
                )

    def _share(self, rows: Iterable[TrialRow], holds: Callable[[TrialRow], bool]) -> Estimate:
        by_task: defaultdict[str, list[bool]] = defaultdict(list)
        for row in rows:
            by_task[row.task].append(holds(row))
        return rate(by_task, missing=len(self._tasks) - len(by_task), level=self._level)

    def _resolved(self, rows: Sequence[TrialRow]) -> Estimate:
        judged = {row.task for row in rows if row.judged or row.infrastructure}
        scores: Mapping[str, float | None] = {
            task: fmean(outcome.quality for outcome in outcomes) if task in judged else None
            for task, outcomes in outcomes_of(rows).items()
        }
        return headline(scores, len(self._tasks), level=self._level, replicates=1).resolved


def flagged_by_setup(rows: Iterable[TrialRow]) -> dict[str, int]:
    """Return the number of flagged trials of each setup with a trial that was examined."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.flagged is not None:
            counts[row.setup] = counts.get(row.setup, 0) + row.flagged
    return counts


def _shows(kind: Kind, by: IntegrityBy | None, row: TrialRow) -> bool:
    return kind in row.evidence.kinds(by)
