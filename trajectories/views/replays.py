"""Lines about the stored replays of a trial."""

from __future__ import annotations

from collections.abc import Iterator

from trajectories.reading.replays import ReplaySummary
from trajectories.record.texts.text import quantity


def replay_lines(replay: ReplaySummary) -> Iterator[str]:
    """Yield the lines that tell when and where a trial was replayed, and with what result."""
    place = [replay.environment]
    place += [f"image {replay.image}"] if replay.image is not None else []
    place += [f"workspace {replay.workspace}"] if replay.workspace is not None else []
    place += [f"up to step {replay.to}"] if replay.to is not None else []
    yield f"replayed {replay.replayed[:16].replace('T', ' ')} ({', '.join(place)}): {'; '.join(_results(replay))}"
    if replay.classes:
        yield f"  differences: {', '.join(f'{name} {count}' for name, count in sorted(replay.classes.items()))}"
    if replay.first_causal is not None:
        yield f"  the workspace differs first after {replay.first_causal}"
    if replay.record_changed:
        yield "  the record has changed since"
    yield f"  report: {replay.file}"


def _results(replay: ReplaySummary) -> Iterator[str]:
    yield f"{replay.returncodes_equal} of {quantity(replay.actions, 'exit code')} equal"
    yield f"{replay.outputs_identical} outputs identical, {replay.outputs_equal_normalized} equal when normalized"
    for name, equal in (("workspace", replay.workspace_equal), ("submission", replay.submission_equal)):
        if equal is not None:
            yield f"{name} {'equal' if equal else 'different'}"
