"""Restores a recorded workspace in a new environment.

Files that are there already and equal (those that an image or a task brings) stay untouched, with their owner. The rest
is removed and unpacked. Paths that the record cannot bring back are returned.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal

from agent.trial.restoring.standing import Standing
from agent.trial.snapshots import ignored
from agent.trial.workplace import Workplace
from environments.archives.chunks import as_file
from environments.listing.listing import ListedPath
from environments.protocol import Environment, EnvironmentFault, Execution
from trajectories.record.events import ActionFinished, Warned
from trajectories.record.texts.paths import from_text
from trajectories.workspace.manifest import PathState
from trajectories.workspace.states import WorkspaceState
from trajectories.workspace.tar_stream import archive_of, left_out
from trajectories.writing import excerpts

_BATCH = 500
_REMOVE_S = 300.0
_LINES = 20
"""Most paths that are named one by one."""


def restore(environment: Environment, state: WorkspaceState) -> list[str]:
    """Bring a started environment's workspace to this state; return lines about paths that stay different.

    There is one line for each path, but no more than a model can read: the last one counts the others.

    Raises: EnvironmentFault, RecordError.
    """
    there = {entry.path: entry for entry in environment.listing().entries() if not ignored(entry.path)}
    wanted = {os.fsdecode(from_text(path)): entry for path, entry in state.manifest.items()}
    same = _same(environment, there, wanted)
    _set_times(environment, {path: wanted[path].mtime_ns for path in same})
    _remove(environment, [path for path in there if path not in wanted or there[path].type != wanted[path].type])
    missing = {path: entry for path, entry in state.manifest.items() if os.fsdecode(from_text(path)) not in same}
    if missing:
        environment.put(as_file(archive_of(replace(state, manifest=missing))), ".")
    lines = [f"{skipped.path}: {skipped.why}" for skipped in (*left_out(missing), *state.unread)]
    return lines if len(lines) <= _LINES else [*lines[:_LINES], f"and {len(lines) - _LINES} more paths"]


def _same(environment: Environment, there: Mapping[str, ListedPath], wanted: Mapping[str, PathState]) -> set[str]:
    """Return the paths that are equal: directories by their mode, files by their content too."""
    alike = {
        path
        for path, entry in wanted.items()
        if path in there and (there[path].type, there[path].mode) == (entry.type, entry.mode)
    }
    files = [path for path in alike if wanted[path].sha256 is not None and wanted[path].size == there[path].size]
    digests = environment.digests(files)
    equal = {path for path in files if digests.get(path) is not None and digests[path] == wanted[path].sha256}
    return equal | {path for path in alike if wanted[path].type == "directory"}


def _set_times(environment: Environment, wanted: Mapping[str, int | None]) -> None:
    """Give files that are there already the times of the record, because make compares times.

    As far as the system can report and set them; older records have whole seconds.
    """
    if all(time_ns is None for time_ns in wanted.values()):
        return
    script = "find . -type f -exec stat --printf '%.9Y %n\\0' -- {} +"
    listed = environment.execute(script, deadline_s=_REMOVE_S, as_root=True)
    times: dict[int, list[str]] = {}
    for record in bytes(listed.output).split(b"\0"):
        seconds, _, name = record.partition(b" ./")
        time_ns = wanted.get(os.fsdecode(name))
        if time_ns is None:
            continue
        is_ns = int(Decimal(seconds.decode()) * 10**9)
        if is_ns != time_ns and (time_ns % 10**9 or is_ns // 10**9 != time_ns // 10**9):
            times.setdefault(time_ns, []).append(os.fsdecode(name))
    commands = []
    for time_ns, paths in times.items():
        stamp = "{}.{:09d}".format(*divmod(time_ns, 10**9))
        for start in range(0, len(paths), _BATCH):
            names = " ".join(shlex.quote(f"./{path}") for path in paths[start : start + _BATCH])
            commands.append(f"touch -c -m -d @{stamp} -- {names}")
    for start in range(0, len(commands), _BATCH):
        environment.execute("\n".join(commands[start : start + _BATCH]), deadline_s=_REMOVE_S, as_root=True)


def _remove(environment: Environment, paths: Iterable[str]) -> None:
    """Remove paths of the workspace, with everything below them."""
    todo: list[str] = []
    for path in sorted(paths):
        if not (todo and path.startswith(todo[-1] + "/")):
            todo.append(path)
    for start in range(0, len(todo), _BATCH):
        names = " ".join(shlex.quote(f"./{path}") for path in todo[start : start + _BATCH])
        result = environment.execute(f"rm -rf -- {names}", deadline_s=_REMOVE_S, as_root=True)
        if result.exit_code != 0:
            output = excerpts.ending(bytes(result.output).decode(errors="replace").strip(), 300)
            raise EnvironmentFault(f"the workspace cannot be restored: {output or result.ended}")


def rerun(standing: Standing, place: Workplace) -> None:
    """Run the commands again that finished after the last snapshot, for their effect on the workspace.

    The model keeps the observations that it saw; a different end is recorded as a warning.

    Raises: EnvironmentFault.
    """
    for started, recorded in standing.rerun:
        deadline_s = started.deadline_s or place.order.limits.command_s
        if started.script is None:
            raise EnvironmentFault(
                f"{started.action} used the tool {started.tool!r}, which only its agent can run again"
            )
        result = place.environment.execute(started.script, deadline_s=deadline_s)
        now, then = end_in_words(result), end_in_words(recorded)
        if now != then and recorded.ended != "unknown":
            text = f"{started.action} was run again to rebuild the workspace and ended otherwise: {now}, before: {then}"
            place.recorder.append(Warned(kind="rerun_differs", text=text))


def end_in_words(result: ActionFinished | Execution) -> str:
    """Return the end of an action for people, for example `exit code 1`, `signal 9` or `deadline`."""
    if result.signal is not None:
        end = f"signal {result.signal}"
    elif result.exit_code is not None:
        end = f"exit code {result.exit_code}"
    else:
        return result.ended
    return end if result.ended == "exited" else f"{end} ({result.ended})"
