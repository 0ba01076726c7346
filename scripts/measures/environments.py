"""Measures of environments: a step, start and stop, a large output, many at once, each compared with plain calls."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from environments.choose import make
from environments.protocol import Build, Environment, EnvironmentSpec, Kind, Started
from environments.sandbox.bubblewrap import as_user, bwrap_prefix, outer_user
from scripts.measures.figures import Figure, command, interleaved

IMAGE = Build(Path(__file__).parents[2] / "tests" / "environments" / "image")
ROUNDS = 40
"""Number of plain calls, which are slow."""
LARGE_BYTES = 64 << 20
MANY, EACH = 50, 40


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    with started("docker") as (docker, facts), started("sandbox") as (sandbox, _), started("local") as (local, _):
        assert facts.image is not None
        yield from steps(docker, sandbox, local, facts.image)
    yield from drift()
    yield start_and_stop(facts.image)
    yield large_output()
    yield many_at_once()


def steps(docker: Environment, sandbox: Environment, local: Environment, image: str) -> Iterator[Figure]:
    """Compare a trivial command in each environment and by plain calls, run in turn, by their medians."""
    import docker as sdk

    client = sdk.from_env()
    plain = client.containers.run(image, ["sleep", "600"], detach=True, network_mode="none", remove=True)
    workspace = Path(tempfile.mkdtemp())
    workspace.chmod(0o777)
    one_shot = [
        *as_user(outer_user()),
        *bwrap_prefix(EnvironmentSpec(kind="sandbox"), workspace),
        "bash",
        "-lc",
        "true",
    ]
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "docker": (10, lambda: step(docker)),
        "sandbox": (10, lambda: step(sandbox)),
        "local": (10, lambda: step(local)),
        "docker exec": (1, lambda: command("docker", "exec", str(plain.id), "true")),
        "SDK exec_run": (1, lambda: plain.exec_run(["true"])),
        "one-shot bubblewrap": (1, lambda: command(*one_shot)),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    try:
        for _ in range(ROUNDS):
            for name, (repeats, action) in ways.items():
                times[name] += timings(action, repeats)
    finally:
        plain.remove(force=True)
        workspace.rmdir()
        client.close()
    medians = {name: statistics.median(values) for name, values in times.items()}
    beside = ", ".join(f"{name} {1000 * value:.1f} ms" for name, value in medians.items())
    bare = medians["docker exec"]
    yield Figure("a step in Docker against `docker exec`", medians["docker"] / bare, "", 0.12, beside)
    yield Figure(
        "a step in the sandbox against one-shot bubblewrap",
        medians["sandbox"] / medians["one-shot bubblewrap"],
        "",
        1.0,
        f"local {1000 * medians['local']:.1f} ms",
    )


def drift() -> Iterator[Figure]:
    """Compare the last tenth of many steps with the first steps of a fresh environment, run in turn."""
    for count in (200, 2000):
        tenth = count // 10
        with started("docker") as (old, _), started("docker") as (fresh, _):
            for _ in range(count - tenth):
                step(old)
            late, early = interleaved(partial(step, old), partial(step, fresh), runs=tenth)
        detail = f"{1000 * late:.2f} ms against {1000 * early:.2f} ms, timed in turn"
        yield Figure(f"last tenth of {count} steps in Docker over the first", late / early, "", 1.1, detail)


def start_and_stop(image: str) -> Figure:
    """Compare the whole life of an environment with create, start and kill by the SDK, same image and limits."""
    import docker as sdk

    api = sdk.from_env().api

    def ours() -> None:
        with started("docker", image=image):
            pass

    def plain() -> None:
        host = api.create_host_config(network_mode="none", auto_remove=True, pids_limit=4096)
        made = api.create_container(image, ["sleep", "600"], host_config=host)
        api.start(made["Id"])
        api.remove_container(made["Id"], force=True)

    took, beside = interleaved(ours, plain, runs=15)
    api.close()
    detail = f"{1000 * took:.0f} ms against {1000 * beside:.0f} ms"
    return Figure("start and stop in Docker over plain create, start, kill", took / beside, "", 1.3, detail)


LARGE = f"""
import sys, tempfile, time
from pathlib import Path
from scripts.measures.environments import started
from trajectories.writing.masking import Masker
from trajectories.writing.recorder import Recorder

def high_water():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024

with started("docker") as (environment, _), tempfile.TemporaryDirectory() as folder:
    recorder = Recorder(Path(folder), masker=Masker({{"KEY": "a secret of these measures"}}))
    def act(size):
        execution = environment.execute(f"head -c {{size}} /dev/urandom", deadline_s=60)
        assert recorder.output(execution.output, execution.counted).kept == size
    act(100_000)
    before, began = high_water(), time.perf_counter()
    act({LARGE_BYTES})
    print(high_water() - before, time.perf_counter() - began, before)
"""


def large_output() -> Figure:
    """Measure the growth of peak memory if an output of 64 MiB is captured, masked and recorded."""
    process = subprocess.run([sys.executable, "-c", LARGE], check=True, capture_output=True, text=True)
    grown, took_s, before = map(float, process.stdout.split())
    detail = f"peak beyond the {before:.0f} MiB of a small one; executed and recorded in {took_s:.2f} s"
    return Figure("memory for 64 MiB of output, captured and recorded", grown, "MiB", 32, detail)


def many_at_once() -> Figure:
    """Count outputs that were lost or mixed up by many environments in one process."""

    def work(number: int) -> int:
        right = 0
        with started("docker") as (environment, _):
            for action in range(EACH):
                words = f"environment {number} action {action} "
                script = f"echo {words}; printf '%{number}s\\n' x; exit {number}"
                execution = environment.execute(script, deadline_s=120)
                expected = f"{words.strip()}\n{'x':>{number}}\n".encode()
                right += (execution.ended, execution.exit_code, execution.output) == ("exited", number, expected)
        return right

    began = time.perf_counter()
    with ThreadPoolExecutor(MANY) as pool:
        right = sum(pool.map(work, range(MANY)))
    took_s = time.perf_counter() - began
    detail = f"{MANY} containers at once, {EACH} actions each, started and stopped, in {took_s:.1f} s"
    return Figure("outputs lost or mixed up", MANY * EACH - right, "", 0, detail)


def step(environment: Environment) -> None:
    """Run the trivial command."""
    assert environment.execute("true", deadline_s=30).exit_code == 0


def timings(action: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of each of `count` calls."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return times


@contextmanager
def started(kind: Kind, image: str | None = None) -> Iterator[tuple[Environment, Started]]:
    """Start an environment and stop it afterwards; in docker with the tests' image unless another is named."""
    environment = make(EnvironmentSpec(kind=kind, image=image, build=IMAGE if kind == "docker" and not image else None))
    try:
        yield environment, environment.start()
    finally:
        environment.stop()
