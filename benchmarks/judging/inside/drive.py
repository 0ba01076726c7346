"""Runs a hidden pytest suite against a candidate program: `python3 -I drive.py config.json`.

The candidate's user cannot read the suite or its results. The candidate is only ever started as a program, by the
fixture `candidate`: nothing of it is imported, and nothing of it runs any more after each call. Needs Python 3.9 or
newer and pytest 7.2 or newer, nothing else.

Names of functions and classes here appear in pytest's messages, and so in verdicts.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Callable, NoReturn  # noqa: UP035 - Python 3.9

FAILED = 70
"""Exit status if the suite could not be run; 0 to 5 are pytest's."""
UNKILLABLE = 71
"""Exit status if processes of the candidate cannot be killed."""
FILE_BYTES = 1 << 30
"""Largest size that a file written by the candidate can reach."""
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def stop(reason: str, status: int = FAILED) -> NoReturn:
    """End this process at once: inside a test, sys.exit would only fail that test."""
    print(f"drive: {reason}", file=sys.stderr, flush=True)
    os._exit(status)


try:
    import pytest
except ImportError:
    stop("pytest is missing in this environment; install python3-pytest in the image")

if TYPE_CHECKING:
    from benchmarks.judging.inside.candidate_processes import Unkillable
    from benchmarks.judging.inside.candidate_program import Candidate, Result, RunFailed, Text, Unusable
else:  # -I leaves the script's own directory out of sys.path
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    from candidate_processes import Unkillable
    from candidate_program import Candidate, Result, RunFailed, Text, Unusable

    sys.path.pop()


class Suite:
    """The pytest plugin: the fixtures, the list of collected cases, and a time limit for each phase of a case."""

    def __init__(self, program: Candidate, out: Path, case_s: float) -> None:
        self._program = program
        self._out = out
        self._case_s = case_s

    @pytest.fixture
    def candidate(self) -> Callable[..., Result]:
        """Return a function that runs the candidate once, in a fresh directory that holds `files`."""

        def run(
            *arguments: str,
            stdin: Text = b"",
            files: Mapping[str, Text] | None = None,
            env: Mapping[str, str] | None = None,
            timeout: float = 10.0,
            program: str | None = None,
        ) -> Result:
            try:
                return self._program.run(arguments, stdin, files or {}, env or {}, timeout, program)
            except RunFailed as error:
                failed = str(error)
            except Unkillable as error:
                stop(str(error), UNKILLABLE)
            pytest.fail(failed, pytrace=False)

        return run

    @pytest.fixture
    def workspace(self) -> Path:
        """Return the directory of the built submission. Its links may lead anywhere, so do not follow them."""
        return self._program.workspace

    def pytest_configure(self) -> None:
        # failed assertions in the suite's shared modules should show their values, too
        pytest.register_assert_rewrite(*(path.stem for path in Path.cwd().glob("*.py")))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        collected = self._out / "collected.json"
        versions = {"pytest": pytest.__version__, "python": sys.version.split()[0]}
        collected.write_text(json.dumps({**versions, "cases": [item.nodeid for item in session.items]}))

    def pytest_runtest_logfinish(self) -> None:
        """Count a test as finished, for those who watch the suite."""
        try:
            with (self._out / "finished").open("ab") as file:
                file.write(b".")
        except OSError:
            pass  # the candidate can fill the disk; only the count is lost

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        yield from self._limited()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        yield from self._limited()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        yield from self._limited()

    def _limited(self) -> Iterator[None]:
        """Limit a phase, including pytest's explanation of a failed comparison, which a candidate can make endless."""
        limit = self._case_s

        def ring(*_: object) -> None:
            pytest.fail(f"the case took more than {limit:g} s", pytrace=False)

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, limit)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def main(path: str) -> int:
    """Run the suite that the configuration names, and return pytest's exit status."""
    with open(path) as file:
        config = json.load(file)
    os.umask(0o077)
    program = _adopt_candidate(config)
    out, suite = Path(config["out"]), str(config["suite"])
    out.mkdir(exist_ok=True)
    for name in [name for name in os.environ if name.startswith("PYTEST") or name in ("CI", "BUILD_NUMBER")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    sys.dont_write_bytecode = True
    sys.path.append(suite)
    os.chdir(suite)
    ini = out / "suite.ini"
    ini.write_text("[pytest]\njunit_family = xunit2\n")
    arguments = ["-q", "-c", str(ini), "--rootdir", suite, "--confcutdir", suite, "-p", "no:cacheprovider"]
    arguments += ["--import-mode=importlib", "--tb=short", f"--basetemp={out.parent / 'tmp'}"]
    arguments += ["--collect-only"] if config["collect_only"] else [f"--junitxml={out / 'results.xml'}"]
    return int(pytest.main([*arguments, suite], plugins=[Suite(program, out, float(config["case_s"]))]))


def _adopt_candidate(config: Mapping[str, object]) -> Candidate:
    """Return the candidate after killing all its processes; the same is done when this process is terminated."""
    prctl = ctypes.CDLL(None).prctl
    if prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        stop("cannot adopt the candidate's orphans (prctl PR_SET_CHILD_SUBREAPER)")
    if config["die_with_parent"]:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES if hard == resource.RLIM_INFINITY else hard, hard))
    try:
        program = Candidate(config)
        program.sweep()
    except Unusable as error:
        stop(str(error))
    except Unkillable as error:
        stop(str(error), UNKILLABLE)

    def ended(*_: object) -> None:
        program.sweep()
        os._exit(128 + signal.SIGTERM)

    signal.signal(signal.SIGTERM, ended)
    return program


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
