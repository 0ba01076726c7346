"""Compares the recorded output of an action with that of its replay, in memory or, if it is long, piece by piece."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from environments.protocol import Execution
from trajectories.blobs.spooled import Spooled
from trajectories.blobs.store import BlobStore
from trajectories.comparison.clock import seconds_of
from trajectories.comparison.compare import (
    NORMALIZED_BYTES,
    Comparison,
    Span,
    compare,
    first_difference,
    first_differing_byte,
)
from trajectories.comparison.interleaving import INTERLEAVED, merged_as
from trajectories.formats.detect import MINI
from trajectories.formats.mini.submission import as_read
from trajectories.record.events import ActionFinished, BaseEvent, Output, TrialStarted
from trajectories.record.layout import TrialFolder

_LONGEST_S = 60 * 86400.0
"""Longest time between the beginning of a trial and the end of an action, pauses included."""


@dataclass(frozen=True)
class ComparedStream:
    """The comparison of one stream, and the place of its first difference."""

    comparison: Comparison
    detail: str


class OutputComparison:
    """Compares the outputs of one replay."""

    def __init__(self, directory: Path, first: TrialStarted, events: Iterable[BaseEvent]) -> None:
        self._imported = first.imported is not None
        self._as_text = first.imported is not None and first.imported.format == MINI
        self._blobs = BlobStore(TrialFolder(directory).blobs)
        times = [seconds for event in events if (seconds := seconds_of(event)) is not None]
        self._recorded = Span(times[0], times[-1]) if times else None
        """First and last time of the record; an import has none at its beginning, and may have none at all."""
        self._replay_began_s = time.time()

    def streams(self, script: str, recorded: ActionFinished, replayed: Execution) -> list[ComparedStream] | None:
        """Compare each stream of an action; None if the record does not hold one of them whole."""
        if recorded.stderr is None and replayed.stderr is not None:
            return self._merged(script, recorded, bytes(replayed.output), bytes(replayed.stderr))
        pairs = [(recorded.output, replayed.output)]
        if recorded.stderr is not None:
            pairs.append((recorded.stderr, b"" if replayed.stderr is None else replayed.stderr))
        streams = [self.compare(then, now, script, recorded) for then, now in pairs]
        compared = [stream for stream in streams if stream is not None]
        return compared if len(compared) == len(streams) else None

    def _merged(
        self, script: str, recorded: ActionFinished, output: bytes, errors: bytes
    ) -> list[ComparedStream] | None:
        """Compare an output that was recorded behind `docker exec` with both streams of its replay."""
        then = recorded.output
        data = self._recorded_bytes(then) if then.kept <= NORMALIZED_BYTES else None
        merged = None
        if data is not None and output and errors and len(output) + len(errors) <= NORMALIZED_BYTES:
            lines, *streams = (
                text.decode("utf-8", "surrogateescape").splitlines(keepends=True)
                for text in (data, as_read(output), as_read(errors))
            )
            spans = (self._span(recorded), Span(self._replay_began_s, time.time()))

            def same(line: str, other: str) -> bool:
                then_line, now_line = (text.encode("utf-8", "surrogateescape") for text in (line, other))
                return compare(then_line, now_line, *spans, script).equal

            merged = merged_as(lines, streams[0], streams[1], same)
        now = output + errors if merged is None else "".join(merged).encode("utf-8", "surrogateescape")
        stream = self.compare(then, now, script, recorded)
        if stream is not None and merged is not None and stream.comparison.equal:
            noise = (*stream.comparison.noise, INTERLEAVED)
            stream = ComparedStream(Comparison(identical=False, equal=True, noise=noise), stream.detail)
        return None if stream is None else [stream]

    def compare(
        self, then: Output, now: bytes | Spooled, script: str, finished: ActionFinished | None
    ) -> ComparedStream | None:
        """Compare one output of a script, until `finished` or the end of the record.

        None if the record does not hold it whole.
        """
        if not then.complete or (self._imported and then.kept < then.bytes):  # so in imports before schema 1.2
            return None
        if max(then.kept, len(now)) > NORMALIZED_BYTES and then.blob is not None:
            pieces = now.pieces() if isinstance(now, Spooled) else (now,)
            at = first_differing_byte(self._blobs.pieces(then.blob), pieces)
            same = at is None
            noise = ("masked",) if not same and then.masked else ()
            detail = f"{then.kept} bytes then, {len(now)} now: they part at byte {at} (too long to compare closer)"
            return ComparedStream(Comparison(identical=same, equal=same, noise=noise), detail)
        data = self._recorded_bytes(then)
        if data is None:
            return None
        printed = as_read(bytes(now)) if self._as_text and b"\r" not in data else bytes(now)
        comparison = compare(data, printed, self._span(finished), Span(self._replay_began_s, time.time()), script)
        if then.masked and not comparison.equal:
            comparison = Comparison(identical=False, equal=False, noise=("masked",))
        return ComparedStream(comparison, "" if comparison.identical else first_difference(data, printed))

    def _span(self, finished: ActionFinished | None) -> Span | None:
        """Return the time from the beginning of the record to the end of an action, or of the record if unknown.

        None for an incredible time, in which almost every date would count as noise.
        """
        if self._recorded is None:
            return None
        ended_s = None if finished is None else seconds_of(finished)
        end_s = self._recorded.end_s if ended_s is None else ended_s
        credible = 0 <= end_s - self._recorded.start_s <= _LONGEST_S
        return Span(self._recorded.start_s, end_s) if credible else None

    def _recorded_bytes(self, output: Output) -> bytes | None:
        if output.blob is not None:
            return self._blobs.get(output.blob)
        data = output.text.encode("utf-8", "surrogatepass")
        return data if hashlib.sha256(data).hexdigest() == output.sha256 else None
