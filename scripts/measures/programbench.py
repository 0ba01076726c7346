"""The measures of ProgramBench: the hand-over of 200 MB, our own time around the evaluator, the list of its tasks."""

from __future__ import annotations

import io
import os
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import zstandard

from scripts.measures.environments import started
from scripts.measures.figures import Figure, command, interleaved

AGENT = (sys.executable, "-m", "agent.cli.main")
OFFICIAL = (sys.executable, "-c", "from programbench.cli.main import app; app()")
ROUNDS = 3
MEGABYTES = 200
FILL = f"""
for directory in /usr/bin /usr/share /usr/lib; do cp -rL "$directory" . 2>/dev/null; done
for ((copy = 0; $(du -sm . | cut -f1) < {MEGABYTES}; copy++)); do cp -r /usr/bin "copy$copy"; done
cp /opt/tool/bin/secret-echo "it's the original"
du -sm . | cut -f1; find . -type f | wc -l
"""
"""Programs, libraries and documents of the image: what a workspace with a build in it is like."""


def measure() -> Iterator[Figure]:
    """All figures, cheapest first."""
    yield listing_time()
    yield from hand_over_time()
    yield around_the_evaluator()


def listing_time() -> Figure:
    """`agent tasks list` over the benchmark's tasks, as a process."""
    argv = (*AGENT, "tasks", "list", "--benchmark", "programbench", "--json")
    ours, bare = interleaved(lambda: command(*argv), lambda: command(sys.executable, "-c", "pass"), runs=7)
    return Figure("agent tasks list --benchmark programbench", ours, "s", 0.5, f"python -c pass {bare * 1000:.0f} ms")


def hand_over_time() -> Iterator[Figure]:
    """Export from the container and hand-over against `docker cp` through gzip, in turn; and the hand-over's memory."""
    from benchmarks.programbench.handover import hand_over

    with started("docker") as (environment, facts), tempfile.TemporaryDirectory() as folder:
        said = environment.execute(FILL, deadline_s=300, as_root=True, cwd=facts.workdir).output
        megabytes, files = map(int, bytes(said).split())
        original = environment.execute("sha256sum </opt/tool/bin/secret-echo", deadline_s=30, as_root=True).output
        withheld = {bytes(original).decode().split()[0]}
        export, submission = Path(folder, "workspace.tar.zst"), Path(folder, "submission.tar.gz")
        plain = f"docker cp {facts.container}:{facts.workdir} - | gzip >{folder}/plain.tar.gz"
        exported: list[float] = []

        def ours() -> None:
            began = time.perf_counter()
            environment.export(export)
            exported.append(time.perf_counter() - began)
            done = hand_over(export, submission, withheld)
            assert "it's the original" in done.removed  # echo, so `bin/echo` too

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
    """Peak memory in MiB of a process that makes one hand-over."""
    argv = [sys.executable, "-c", PEAK, str(export), str(submission), *withheld]
    return float(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)


def _small(folder: str) -> Path:
    """An export of 1 MB."""
    path = Path(folder, "small.tar.zst")
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        info = tarfile.TarInfo("./small")
        info.size = 1_000_000
        archive.addfile(info, io.BytesIO(os.urandom(info.size)))
    path.write_bytes(zstandard.compress(plain.getvalue()))
    return path


def around_the_evaluator() -> Figure:
    """Our own time around `programbench eval`: an evaluation less its build, less the same command run plainly."""
    from benchmarks.programbench import instances, official, prepared
    from tests.programbench import clean_room

    id = clean_room.CALCULATOR
    spent: list[float] = []
    checked: list[float] = []
    bare: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {
            "PROGRAMBENCH_DOCKER_ORG": clean_room.calculator_image().organisation,
            "PROGRAMBENCH_BLOB_DIR": str(clean_room.calculator_blobs(folder / "blobs")),
            "HF_HUB_OFFLINE": "1",
        }
        workspace = clean_room.workspace(folder / "workspace.tar.zst", clean_room.calculator())
        for number in range(ROUNDS):
            scratch = folder / f"ours-{number}"
            began = time.perf_counter()
            verdict = official.evaluate(instances.instance(id), workspace, scratch)
            spent.append(time.perf_counter() - began)
            found = prepared.read(scratch)
            assert verdict.passed, verdict
            assert found is not None
            checked.append(found.check_seconds)
            plain = folder / f"plain-{number}" / id
            plain.mkdir(parents=True)
            shutil.copy(scratch / official.SUBMISSION, plain)
            began = time.perf_counter()
            command(*OFFICIAL, "eval", str(plain.parent), "--docker-cpus", str(min(10, os.cpu_count() or 1)))
            bare.append(time.perf_counter() - began)
            assert (plain / f"{id}.eval.json").exists()
    ours, check, beside = map(statistics.median, (spent, checked, bare))
    return Figure(
        "our own time around programbench eval",
        ours - check - beside,
        "s",
        2.0,
        f"an evaluation {ours:.1f} s, less its build check {check:.1f} s, less the plain command {beside:.1f} s",
    )
