"""Measures of ProgramBench: the hand-over of 200 MB, our own time around the evaluator, and the list of its tasks."""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from unittest.mock import patch

import zstandard

from scripts.measures.environments import started
from scripts.measures.figures import Figure, command, cpu_in_turn, interleaved

AGENT = (sys.executable, "-m", "agent.cli.main")
ROUNDS = 3
MEGABYTES = 200
FILL = f"""
for directory in /usr/bin /usr/share; do cp -rL "$directory" . 2>/dev/null; done
for ((copy = 0; $(du -sm . | cut -f1) < {MEGABYTES}; copy++)); do cp -r /usr/bin "copy$copy"; done
cp /opt/tool/bin/secret-echo "it's the original"
du -sm . | cut -f1; find . -type f | wc -l
"""
"""Fills a workspace with programs, libraries and documents of the image, similar to one with a build."""
PARSE = """
import json, importlib.util, yaml
from pathlib import Path

package = Path(importlib.util.find_spec("programbench").origin).parent
for task in package.glob("data/tasks/*__*/task.yaml"):
    yaml.load(task.read_bytes(), yaml.CSafeLoader)
    json.loads((task.parent / "tests.json").read_bytes())
"""
"""Parses the files that the list of tasks is made from; the first paragraph only imports."""


def measure() -> Iterator[Figure]:
    """Yield all figures, the cheapest first."""
    yield listing_time()
    yield from hand_over_time()
    yield around_the_evaluator()


def listing_time() -> Figure:
    """Compare what `agent tasks list` takes beyond `agent --version` with parsing the same files, in processor time."""
    with tempfile.TemporaryDirectory() as cache, patch.dict(os.environ, RETRACE_CACHE_DIR=cache):
        ours, start, parsing, imports = cpu_in_turn(
            (*AGENT, "tasks", "list", "--json"),
            (*AGENT, "--version"),
            (sys.executable, "-c", PARSE),
            (sys.executable, "-c", PARSE.partition("\n\n")[0]),
            runs=11,
        )
    detail = (
        f"processor time: {1000 * (ours - start):.0f} ms against {1000 * (parsing - imports):.0f} ms; numbers cached"
    )
    name = "agent tasks list beyond agent --version, against parsing its files"
    return Figure(name, (ours - start) / (parsing - imports), "", 1.5, detail)


def hand_over_time() -> Iterator[Figure]:
    """Measure export and hand-over against `docker cp` through gzip, in turn, and the memory of the hand-over."""
    from benchmarks.programbench.handover import hand_over

    with started("docker") as (environment, facts), tempfile.TemporaryDirectory() as folder:
        output = environment.execute(FILL, deadline_s=300, as_root=True, cwd=facts.workdir).output
        megabytes, files = map(int, bytes(output).split())
        original = environment.execute("sha256sum </opt/tool/bin/secret-echo", deadline_s=30, as_root=True).output
        withheld = {bytes(original).decode().split()[0]}
        export, submission = Path(folder, "workspace.tar.zst"), Path(folder, "submission.tar.gz")
        plain = f"docker cp {facts.container}:{facts.workdir} - | gzip >{folder}/plain.tar.gz"
        exported: list[float] = []

        def ours() -> None:
            began = time.perf_counter()
            environment.export(export)
            exported.append(time.perf_counter() - began)
            handed = hand_over(export, submission, withheld)
            assert "it's the original" in handed.removed  # the program is echo, so `bin/echo` is removed, too

        took, beside = interleaved(ours, lambda: command("sh", "-c", plain), runs=3)
        sizes = [Path(folder, name).stat().st_size / 2**20 for name in ("submission.tar.gz", "plain.tar.gz")]
        peaks = [_grown(export, submission, withheld), _grown(_small(folder), submission, withheld)]
    yield Figure(
        f"hand-over of {megabytes} MB in {files} files over docker cp and gzip",
        took / beside,
        "",
        2.0,
        f"{took:.1f} s ({statistics.median(exported):.1f} of it the export) against {beside:.1f} s; "
        f"{sizes[0]:.0f} MiB against {sizes[1]:.0f}",
    )
    yield Figure(
        f"memory that the hand-over of {megabytes} MB takes beyond that of 1 MB",
        peaks[0] - peaks[1],
        "MiB",
        16,
        f"peaks of the process {peaks[0]:.0f} and {peaks[1]:.0f} MiB",
    )


PEAK = """
import sys
from pathlib import Path
from benchmarks.programbench.handover import hand_over
hand_over(Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:]))
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024)
"""


def _grown(export: Path, submission: Path, withheld: set[str]) -> float:
    """Return the peak memory, in MiB, of a process that makes one hand-over."""
    argv = [sys.executable, "-c", PEAK, str(export), str(submission), *withheld]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def _small(folder: str) -> Path:
    """Write an export of 1 MB."""
    path = Path(folder, "small.tar.zst")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        info = tarfile.TarInfo("./small")
        info.size = 1_000_000
        archive.addfile(info, io.BytesIO(os.urandom(info.size)))
    path.write_bytes(zstandard.compress(plain.getvalue()))
    return path


def around_the_evaluator() -> Figure:
    """Measure our own time around `programbench eval`: an evaluation without that process and the check's build."""
    from benchmarks.programbench import check, instances
    from benchmarks.programbench.official import evaluator, running, sweep
    from tests.programbench import clean_room

    own: list[float] = []
    whole: list[float] = []
    with tempfile.TemporaryDirectory() as name, _Stopwatch() as watch:
        folder = Path(name)
        os.environ |= {
            "PROGRAMBENCH_DOCKER_ORG": clean_room.calculator_image().organization,
            "PROGRAMBENCH_BLOB_DIR": str(clean_room.calculator_blobs(folder / "blobs")),
            "HF_HUB_OFFLINE": "1",
        }
        workspace = clean_room.workspace(folder / "workspace.tar.zst", clean_room.calculator())
        watch.time(running, "run")
        watch.time(sweep, "sweep")
        watch.time(check.CleanRoom, "compile")
        for number in range(ROUNDS):
            watch.spent.clear()
            began = time.perf_counter()
            verdict = evaluator.evaluate(instances.instance(clean_room.CALCULATOR), workspace, folder / str(number))
            whole.append(time.perf_counter() - began)
            assert verdict.passed, verdict
            not_ours = watch.spent["run"] - watch.spent["sweep"] + watch.spent["compile"]  # `run` includes the sweep
            own.append(whole[-1] - not_ours)
    return Figure(
        "our own time around programbench eval",
        statistics.median(own),
        "s",
        2.0,
        f"of evaluations of {statistics.median(whole):.1f} s; the check's container is ours, what it builds is not",
    )


class _Stopwatch:
    """Adds up the seconds that functions take while it is open."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._undo = ExitStack()

    def time(self, owner: Any, name: str) -> None:
        """Start to time a function of a module or a class."""
        function = getattr(owner, name)

        def timed(*args: Any, **more: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **more)
            finally:
                self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - began

        setattr(owner, name, timed)
        self._undo.callback(setattr, owner, name, function)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()
