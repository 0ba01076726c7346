"""Running a test script in a container: clear its places, put the tests there, run it, and read its result files."""

from __future__ import annotations

import posixpath
import secrets
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from benchmarks.judging.faults import EvaluatorFailed, HostFailed, SubmissionFailed
from benchmarks.judging.system import staging
from benchmarks.judging.system.script_run import ScriptResult, ScriptRun
from benchmarks.judging.system.shield import container
from benchmarks.judging.system.shield.outcome import Unshielded
from environments.docker import daemon
from environments.docker.environment import HOSTNAME
from environments.protocol import (
    DiskFull,
    Environment,
    EnvironmentLost,
    EnvironmentUnavailable,
    OutOfMemory,
    Started,
    SupervisorLost,
)
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

CLEAR_S = 120.0
"""Seconds that putting the tests in place may take."""
_OF_ROOT = {
    "HOME": "/root",
    "USER": "root",
    "LOGNAME": "root",
    "HOSTNAME": HOSTNAME,
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}


def run_script(environment: Environment, started: Started, run: ScriptRun, reporter: Reporter) -> ScriptResult:
    """Run a test script as root, or as its user, in a container that may hold processes of the submission.

    Raises: SubmissionFailed, EvaluatorFailed, TaskError if a file of the tests cannot be read.
    """
    if started.container is None:
        raise EvaluatorFailed(f"tests of the whole system need a container, which {started.kind} is not")
    with _faults(), _client() as api:
        variables = _variables(api, started.container)
        if not run.shielded:
            return _run(api, environment, started, run, variables, reporter)
        try:
            return _shielded(api, environment, started, run, variables, reporter)
        except Unshielded as reason:
            exposed = f"what the agent left running could read the tests and write their results: {reason}"
        return replace(_run(api, environment, started, run, variables, reporter), exposed=(exposed,))


def _shielded(
    api: APIClient,
    environment: Environment,
    started: Started,
    run: ScriptRun,
    variables: Mapping[str, str],
    reporter: Reporter,
) -> ScriptResult:
    """Run a test script out of reach of what the agent left running.

    Raises: Unshielded, SubmissionFailed, EvaluatorFailed, TaskError, EnvironmentFault.
    """
    if run.agent_shell:
        raise Unshielded("the tests run in the agent's own shell")
    if run.user not in (None, "root", "0"):
        raise Unshielded(f"the tests run as user {run.user}")
    env = {**_OF_ROOT, **variables, **run.env}
    result = container.run(api, str(started.container), run, run.cwd or started.workdir, env, reporter)
    execution = result.execution
    if execution.ended != "oom" and execution.signal is not None:
        environment.execute("true", deadline_s=CLEAR_S, cwd="/", as_root=True)  # raises the reason if all of it is lost
        raise SubmissionFailed("processes", "the tests were killed from outside, by what the agent left running")
    return result


def _run(
    api: APIClient,
    environment: Environment,
    started: Started,
    run: ScriptRun,
    variables: Mapping[str, str],
    reporter: Reporter,
) -> ScriptResult:
    """Run a test script with the files of the container, as its other processes see them.

    Raises: SubmissionFailed, EvaluatorFailed, TaskError, EnvironmentFault.
    """
    _place(api, environment, str(started.container), run)
    run.ready()
    reporter.note(f"evaluation: running the tests, at most {run.deadline_s:g} s")
    if run.agent_shell:
        script = f"(exec bash -c {shlex.quote(run.script)}) </dev/null"
        execution = environment.execute(script, deadline_s=run.deadline_s, output_bytes=run.output_bytes)
    else:
        execution = environment.execute(
            _script(run),
            deadline_s=run.deadline_s,
            output_bytes=run.output_bytes,
            cwd=run.cwd or started.workdir,
            env={**variables, **run.env},
            as_root=True,
        )
    if execution.ended == "environment_lost":
        environment.execute("true", deadline_s=CLEAR_S, cwd="/", as_root=True)  # raises the reason of the loss
    results = staging.fetched(api, str(started.container), run.results)
    return ScriptResult(execution, results, staging.fetched_small(api, str(started.container), run.extras))


@contextmanager
def _faults() -> Iterator[None]:
    """Tell what the submission can cause apart from what it cannot.

    Raises: SubmissionFailed, EvaluatorFailed.
    """
    try:
        yield
    except OutOfMemory as error:
        raise SubmissionFailed("memory", str(error)) from None
    except SupervisorLost as error:
        raise SubmissionFailed("processes", str(error)) from None
    except (DiskFull, EnvironmentLost, EnvironmentUnavailable) as error:
        raise HostFailed(str(error)) from None


@contextmanager
def _client() -> Iterator[APIClient]:
    api = daemon.connect()
    try:
        yield api
    finally:
        api.close()


def _variables(api: APIClient, container: str) -> Mapping[str, str]:
    """Return the container's own variables, which its image and its spec give to every process."""
    with daemon.reported(f"looking at container {container[:12]}"):
        listed = api.inspect_container(container)["Config"].get("Env") or []
    return dict(variable.split("=", 1) for variable in listed if "=" in variable)


def _place(api: APIClient, environment: Environment, container: str, run: ScriptRun) -> None:
    """Put the files of the tests in place, and remove earlier results.

    Raises: EvaluatorFailed, TaskError, EnvironmentFault.
    """
    top = f"/.retrace-{secrets.token_hex(8)}"
    staging.stage(api, container, top, run.files.values())
    execution = environment.execute(_clear(run, top), deadline_s=CLEAR_S, cwd="/", as_root=True)
    if execution.exit_code != 0:
        reason = bytes(execution.output).decode("utf-8", "replace").strip().splitlines() or [execution.ended]
        raise EvaluatorFailed(f"the tests cannot be put in place: {reason[-1][:500]}")


def _clear(run: ScriptRun, top: str) -> str:
    """Return the script that replaces the directories of the tests, and removes what the tests will write.

    A link above one of the directories is replaced by a directory, so that nothing is written where it leads.
    """
    places = [*run.files, *run.private]
    lines = ["set -e", f"trap 'rm -rf {top}' EXIT"]
    for directory in _above(places):
        name = shlex.quote(directory)
        lines.append(f"if [ -L {name} ] || ! [ -d {name} ]; then rm -rf -- {name}; mkdir -p -- {name}; fi")
    for place in dict.fromkeys(places):
        name = shlex.quote(place)
        lines += [
            # closed first, because processes of the agent's user could add files as fast as they are removed
            f"[ -L {name} ] || ! [ -d {name} ] || {{ chown 0:0 {name}; chmod 755 {name}; }}",
            f"[ -L {name} ] || ! [ -d {name} ] || rm -rf -- {name} 2>/dev/null || find {name} -mindepth 1 -delete",
            f"[ -d {name} ] && ! [ -L {name} ] || {{ rm -rf -- {name}; mkdir -- {name}; }}",
        ]
    if run.user is not None:
        lines += [f"chown -- {shlex.quote(run.user)} {shlex.quote(place)}" for place in run.private]
    lines += [f"rm -rf -- {shlex.quote(path)}" for path in (*run.results, *run.extras)]
    lines += [f"cp -a {top}/{number}/. {shlex.quote(place)}/" for number, place in enumerate(run.files)]
    return "\n".join(lines)


def _above(paths: Iterable[str]) -> list[str]:
    """Return the directories above these, the highest first."""
    parents = {parent for path in paths for parent in PurePosixPath(posixpath.normpath(path)).parents}
    return [str(parent) for parent in sorted(parents, key=lambda parent: len(parent.parts)) if str(parent) != "/"]


def _script(run: ScriptRun) -> str:
    """Return the script as bash gets it; one for another user than root changes to that user first."""
    inner = f"exec bash -c {shlex.quote(run.script)}"
    if run.user in (None, "root", "0"):
        return inner
    user = shlex.quote(str(run.user))
    return f"""user={user}
HOME=$(getent passwd "$user" | cut -d: -f6); export HOME=${{HOME:-/}} USER=$user LOGNAME=$user
if command -v setpriv >/dev/null; then
  exec setpriv --reuid="$user" --regid="$(id -g "$user")" --init-groups bash -c {shlex.quote(run.script)}
fi
exec su -s /bin/bash "$user" -c {shlex.quote(run.script)}"""
