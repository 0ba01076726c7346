"""Shared parts of all tests: abilities of this machine, shared data, and no key that could spend money.

A test that needs Docker or bubblewrap has a mark. If the machine lacks it, the test is left out, and the summary lists
it with the reason; RETRACE_REQUIRE_DOCKER=1 and RETRACE_REQUIRE_SANDBOX=1 make that an error at the start.
Tests marked `slow` are left out in the same way; `--slow` runs them, and no others.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.leftovers"]

CHECKOUT = Path(__file__).resolve().parent.parent
PROBLEMS = pytest.StashKey[dict[str, str]]()
"""The reason, for each mark whose tests cannot run here."""
LEFT_OUT = "left out, "

# Neither the time of an example nor that of its generation is judged, because the machine is shared.
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")


def docker_problem() -> str | None:
    """Return the reason why Docker cannot be used; None if it can. Asks the daemon, not our own code."""
    import docker
    from docker.errors import DockerException

    try:
        client = docker.from_env(timeout=10)
        client.ping()
        client.close()
    except (DockerException, OSError) as error:
        cause: BaseException = error
        while cause.__context__ is not None:
            cause = cause.__context__
        host = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")
        return f"no Docker daemon answers at {host} ({getattr(cause, 'strerror', None) or cause})"
    return None


def sandbox_problem() -> str | None:
    """Return the reason why bubblewrap cannot make a sandbox here; None if it can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "true"]
    result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30)
    return None if result.returncode == 0 else f"bubblewrap cannot make a sandbox here ({result.stderr.strip()})"


def podman_problem() -> str | None:
    """Return the reason why the tests cannot start a Podman service; None if they probably can."""
    if shutil.which("podman") is None:
        return "podman is not installed"
    return "the tests start Podman's service as root" if os.geteuid() else None


SLOW = "they take minutes; scripts/test --slow runs them, and only them"

PROBES = {"docker": docker_problem, "sandbox": sandbox_problem, "podman": podman_problem}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, and only them")


def pytest_configure(config: pytest.Config) -> None:
    # nohup and & may have turned these signals off, and the processes of the tests would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        del os.environ[name]
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist; the process that started it has probed the machine
        config.stash[PROBLEMS] = config.workerinput["problems"]
        return
    problems = {mark: problem for mark, probe in PROBES.items() if (problem := probe())}
    for mark, problem in problems.items():
        if required(mark):
            raise pytest.UsageError(f"RETRACE_REQUIRE_{mark.upper()}=1, but {problem}")
    config.stash[PROBLEMS] = problems


def required(mark: str) -> bool:
    """Return True if a machine that lacks this ability is an error."""
    return os.environ.get(f"RETRACE_REQUIRE_{mark.upper()}", "") not in ("", "0")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node) -> None:  # pytest-xdist's
    node.workerinput["problems"] = node.config.stash[PROBLEMS]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("slow"):
        quick = [item for item in items if not item.get_closest_marker("slow")]
        items[:] = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=quick)
        left_out = config.stash[PROBLEMS]
    else:
        left_out = {**config.stash[PROBLEMS], "slow": SLOW}
    for mark, problem in left_out.items():
        skip = pytest.mark.skip(reason=f"{LEFT_OUT}{mark}: {problem}")
        for item in items:
            if item.get_closest_marker(mark):
                item.add_marker(skip)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print for each mark the number of tests that were left out, the reason, and their files."""
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
        if LEFT_OUT in reason:
            left_out[reason.partition(LEFT_OUT)[2]][report.nodeid.partition("::")[0]] += 1
    for reason, files in left_out.items():
        mark = reason.partition(":")[0]
        total = files.total()
        terminalreporter.section(f"{total} {mark} test{'s' * (total != 1)} left out", yellow=True)
        way_out = f"; RETRACE_REQUIRE_{mark.upper()}=1 makes this a failure" if mark in PROBES else ""
        terminalreporter.line(reason + way_out)
        for file, count in sorted(files.items()):
            terminalreporter.line(f"  {count:4} in {file}")


@pytest.fixture(scope="session", autouse=True)
def _own_configuration(tmp_path_factory: pytest.TempPathFactory):
    """Keep the aliases and defaults of the user from changing a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RETRACE_CONFIG_DIR", str(tmp_path_factory.mktemp("config")))
        patch.setenv("RETRACE_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with data shared beside the checkout, for example recorded trajectories of other harnesses."""
    path = CHECKOUT.parent / "shared" / "data"
    if not path.is_dir():
        pytest.skip(f"the shared data is not beside this checkout ({path})")
    return path


@pytest.fixture(scope="session")
def workbench_image() -> str:
    """The image of the demos without a program of their own: bash, git, Python, pytest and the user `agent`."""
    from tests.demo_images import demo_image

    image = demo_image("ledger")
    assert image is not None
    return image
