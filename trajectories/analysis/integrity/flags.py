"""Violations by rule of many trials, as few figures, kept between runs.

To apply the rules, every command of a trial is parsed (0.04 s for 165 commands). A result is used again as long as the
record has the same size and time of change and the rules are the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from trajectories.analysis.extras import MissingExtra
from trajectories.cache import read_cache, write_cache
from trajectories.errors import RecordError
from trajectories.reading.family import ancestor_of
from trajectories.reading.packed import record_state
from trajectories.reading.reader import events_file, first_event, read_events
from trajectories.record.panel import KINDS, Kind

if TYPE_CHECKING:
    from trajectories.analysis.integrity.findings import Finding, Scan

_FILE = "integrity-rules.json"
_MOST = 20_000
"""Number of trials whose results are kept."""
_SCANS = 100
"""Number of scans that are kept in memory for the forks of their trials."""
_ANALYSIS = Path(__file__).parents[1]


class RuleFlags(BaseModel):
    """The findings by rule about one trial, in figures."""

    model_config = ConfigDict(frozen=True)

    commands: int
    """Number of commands that were examined."""
    violated: tuple[Kind, ...]
    """Kinds with a finding that is sure and whose command succeeded."""
    others: int
    """Number of other findings: hints, attempts, and commands with an unclear result."""


def flags_of(findings: Iterable[Finding], commands: int) -> RuleFlags:
    """Return the figures of a trial's findings. A finding in the final workspace has succeeded if it is sure."""
    findings = tuple(findings)
    sure = [finding for finding in findings if finding.sure and finding.severity == "succeeded"]
    kinds = {finding.kind for finding in sure}
    return RuleFlags(
        commands=commands,
        violated=tuple(kind for kind in KINDS if kind in kinds),
        others=len(findings) - len(sure),
    )


def rule_flags(
    directories: Iterable[Path], before: Callable[[int], None] = lambda number: None
) -> dict[Path, RuleFlags]:
    """Return the figures of each trial whose record can be read; `before` gets the number of trials to examine now.

    Raises: MissingExtra without tree-sitter, if a trial has to be examined.
    """
    kept = {path: entry for path, entry in read_cache(_FILE).items() if isinstance(entry, list) and len(entry) == 4}
    rules = _rules()
    flags: dict[Path, RuleFlags] = {}
    due: list[tuple[Path, str, list[object]]] = []
    for directory in directories:
        try:
            record = record_state(events_file(directory))
        except (OSError, RecordError):
            continue
        key, state = str(directory.resolve()), [record.mtime_ns, record.size, rules]
        entry = kept.get(key)
        if isinstance(entry, list) and entry[:3] == state and (known := _parsed(entry[3])) is not None:
            flags[directory] = known
        else:
            due.append((directory, key, state))
    if not due:
        return flags
    before(len(due))
    scans = _Scans()
    try:
        for directory, key, state in due:
            try:
                flags[directory] = flags_of(scans.with_ancestors(directory), scans.of(directory).commands)
            except MissingExtra:
                raise
            except RecordError:
                continue
            kept.pop(key, None)  # the newest results are at the end
            kept[key] = [*state, flags[directory].model_dump()]
    finally:  # also after Ctrl-C
        write_cache(_FILE, dict(list(kept.items())[-_MOST:]))
    return flags


class _Scans:
    """The scans of trials; that of a trial that was forked often is made once."""

    def __init__(self) -> None:
        self._scans: dict[Path, Scan] = {}

    def of(self, directory: Path) -> Scan:
        """Return the scan of one trial.

        Raises: RecordError; MissingExtra without tree-sitter.
        """
        from trajectories.analysis.integrity.findings import scan  # slow to import, and not needed for what is kept

        directory = directory.absolute()
        if directory not in self._scans:
            if len(self._scans) >= _SCANS:
                self._scans.clear()
            self._scans[directory] = scan(directory, read_events(directory))
        return self._scans[directory]

    def with_ancestors(self, directory: Path) -> list[Finding]:
        """Return the findings about a trial, and those about the work that it inherits: a fork of a trial that fetched
        the source has the source, and so has a turn after one that did.

        Ancestors whose records are neither in the batch nor in one beside it are not known.

        Raises: RecordError; MissingExtra without tree-sitter.
        """
        findings = list(self.of(directory).findings)
        seen = {directory.absolute()}
        while (above := ancestor_of(directory)) is not None and above.absolute() not in seen:
            seen.add(above.absolute())
            parent = first_event(directory).parent
            findings += [
                each for each in self.of(above).findings if parent is None or (each.action and each.step <= parent.step)
            ]
            directory = above
        return findings


def _parsed(entry: object) -> RuleFlags | None:
    try:
        return RuleFlags.model_validate(entry)
    except ValidationError:
        return None


@cache
def _rules() -> str:
    """Return a hash of the code of the rules."""
    digest = hashlib.sha256()
    for file in sorted(_ANALYSIS.rglob("*.py")):
        digest.update(b"%s\0" % bytes(file.relative_to(_ANALYSIS)) + file.read_bytes())
    return digest.hexdigest()[:16]
