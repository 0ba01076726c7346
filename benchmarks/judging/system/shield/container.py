"""The container beside the judged one: made for one run of a test script, attached to, read, and removed.

It alone gets the capability SYS_ADMIN, and only the evaluator's own program uses it, from an image that neither the
task nor the agent has touched. It has no network and no directory of the host.
"""

from __future__ import annotations

import io
import posixpath
import tarfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.judging.faults import HostFailed
from benchmarks.judging.system import staging
from benchmarks.judging.system.script_run import ScriptResult, ScriptRun
from benchmarks.judging.system.shield import outcome
from benchmarks.judging.system.shield.outcome import Unshielded
from benchmarks.task.tree import Tree
from environments.docker import base_image, daemon, stored_images
from environments.leftovers import owner
from environments.link import AttachLink
from environments.protocol import EnvironmentUnavailable, Execution
from environments.reporting import Reporter

if TYPE_CHECKING:
    from docker import APIClient

IMAGE = "debian:bookworm-slim"
"""Image with perl. It is the base of our own images, so one that was made here does as well."""
_ARCHITECTURES = ("amd64", "arm64")
"""Architectures whose system calls `inside.pl` knows."""
_TOP = "shield"
_TREES = f"/{_TOP}/trees"
_CAPABILITIES = ("SYS_ADMIN", "SYS_PTRACE", "WAKE_ALARM")
_END_S = 10
"""Seconds in which a container that is killed has to end."""


def run(
    api: APIClient, container: str, run: ScriptRun, cwd: str, variables: Mapping[str, str], reporter: Reporter
) -> ScriptResult:
    """Run a test script in a container, out of reach of the processes that run in it.

    Raises: Unshielded, SubmissionFailed, HostFailed, TaskError, EnvironmentUnavailable, DiskFull.
    """
    places = sorted({*run.files, *run.private}, key=lambda place: (place.count("/"), place))
    located = {path: _located(path, places) for path in (*run.results, *run.extras)}
    empty = Tree(Path("/"), (), ())
    with _made(api, container, reporter) as (shield, architecture):
        staging.stage(api, shield, _TREES, [run.files.get(place, empty) for place in places])
        pairs = [f"{name}={value}" for name, value in variables.items()]
        job = "\0".join([architecture, cwd, run.script, "\n".join(places), *pairs])
        _put(api, shield, {"job": job.encode("utf-8", "surrogateescape"), "inside.pl": _program()})
        run.ready()
        execution = _ended(api, shield, run)
        results = staging.fetched(api, shield, [located[path] for path in run.results])
        extras = staging.fetched_small(api, shield, [located[path] for path in run.extras])
    names = {own: path for path, own in located.items()}
    return ScriptResult(
        execution,
        {names[own]: content for own, content in results.items()},
        {names[own]: content for own, content in extras.items()},
    )


def _located(path: str, places: Sequence[str]) -> str:
    """Return the name of a result file in the shield's own container."""
    for number, place in reversed(list(enumerate(places))):
        if path.startswith(f"{place}/"):
            return f"{_TREES}/{number}/{posixpath.relpath(path, place)}"
    raise Unshielded(f"{path} is in no directory of the tests' own")


@contextmanager
def _made(api: APIClient, container: str, reporter: Reporter) -> Iterator[tuple[str, str]]:
    """Make the shield's container, and remove it at the end; yield its id and its architecture.

    Raises: Unshielded.
    """
    try:
        image = _image(api, reporter)
        with daemon.reported("making a container beside the judged one"):
            facts = api.inspect_image(image)  # type: ignore[no-untyped-call]
            architecture = str(facts.get("Architecture"))
            if architecture not in _ARCHITECTURES:
                raise Unshielded(f"its program does not know the system calls of {architecture}")
            made = _create(api, image, container)
    except EnvironmentUnavailable as error:
        raise Unshielded(str(error)) from None
    try:
        yield made, architecture
    finally:
        with suppress(Exception):  # it is labeled, so `agent clean` finds it
            api.remove_container(made, force=True, v=True)


def _image(api: APIClient, reporter: Reporter) -> str:
    """Return an image with perl that is here, or that can be pulled.

    Raises: EnvironmentUnavailable.
    """
    for reference in (IMAGE, base_image.MADE):
        if stored_images.look_up(api, reference) is not None:
            return reference
    stored_images.pull(api, IMAGE, None, reporter)
    return IMAGE


def _create(api: APIClient, image: str, container: str) -> str:
    from docker.types import LogConfig, Ulimit

    limits: Mapping[str, Any] = api.inspect_container(container)["HostConfig"]
    given = {
        "mem_limit": limits.get("Memory"),
        "memswap_limit": limits.get("MemorySwap"),
        "nano_cpus": limits.get("NanoCpus"),
        "pids_limit": limits.get("PidsLimit"),
    }
    host = api.create_host_config(
        pid_mode=f"container:{container}",
        network_mode="none",
        cap_add=list(_CAPABILITIES),
        security_opt=["no-new-privileges:true", "apparmor=unconfined"],
        log_config=LogConfig(type="none", config={}),
        ulimits=[Ulimit(**{key.lower(): limit[key] for key in limit}) for limit in limits.get("Ulimits") or []],
        **{name: value for name, value in given.items() if value},
    )
    made = api.create_container(
        image,
        [f"/{_TOP}/inside.pl"],
        entrypoint=["perl"],
        user="0",
        working_dir="/",
        environment={"LC_ALL": "C"},
        labels=owner.this_process().labels(),
        healthcheck={"test": ["NONE"]},
        host_config=host,
    )
    return str(made["Id"])


def _program() -> bytes:
    return (resources.files(__package__) / "inside.pl").read_bytes()


def _put(api: APIClient, shield: str, files: Mapping[str, bytes]) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"{_TOP}/{name}")
            member.size, member.mode = len(content), 0o600
            tar.addfile(member, io.BytesIO(content))
    with daemon.reported("putting the test script beside the judged container"):
        api.put_archive(shield, "/", packed.getvalue())


def _ended(api: APIClient, shield: str, run: ScriptRun) -> Execution:
    """Start the shield and return the outcome of the script.

    Raises: Unshielded, SubmissionFailed, HostFailed, EnvironmentUnavailable.
    """
    begun = time.monotonic()
    try:
        with daemon.reported("starting a container beside the judged one"):
            streams = api.attach_socket(shield, params={"stdout": 1, "stderr": 1, "stream": 1})
            api.start(shield)
    except EnvironmentUnavailable as error:
        raise Unshielded(str(error)) from None
    link = AttachLink(getattr(streams, "_sock", streams), streams)
    try:
        output, cut = _output(link, begun + run.deadline_s, run.output_bytes)
        last = (link.diagnostics().splitlines() or [""])[-1]
    finally:
        link.close()
    execution = Execution(
        ended=cut or "exited",
        output=bytes(output[: run.output_bytes]),
        counted=len(output),
        duration_s=time.monotonic() - begun,
    )
    with daemon.reported("ending the container beside the judged one"):
        if cut is not None:
            with suppress(Exception):  # it may have ended meanwhile
                api.kill(shield)
            api.wait(shield, timeout=_END_S)
            return execution
        out_of_memory = bool(api.inspect_container(shield)["State"].get("OOMKilled"))
    return outcome.of_line(last, execution, out_of_memory=out_of_memory)


def _output(link: AttachLink, until: float, most: int) -> tuple[bytearray, Literal["deadline", "output_cap"] | None]:
    """Return what the script printed, and the reason to end it, if there is one."""
    output, view = bytearray(), memoryview(bytearray(1 << 16))
    while True:
        try:
            received = link.receive(view, until - time.monotonic())
        except TimeoutError:
            return output, "deadline"
        except OSError as error:
            raise HostFailed(f"the tests' output was cut off: {error}") from None
        output += view[:received]
        if not received:
            return output, None
        if len(output) > most:
            return output, "output_cap"
        if time.monotonic() > until:
            return output, "deadline"
