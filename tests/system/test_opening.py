"""A submission is opened as a fresh container, as a container of its image, or as the live environment itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.judging.faults import EvaluatorFailed, SubmissionFailed
from benchmarks.judging.system.opening import opened
from benchmarks.task.registry import benchmark
from benchmarks.task.submission import Archive, Image, Live
from environments.choose import make
from environments.docker import daemon
from environments.protocol import Checkpointing
from environments.reporting import LogReporter
from tests.benchmarks.work import archive

from .conftest import workbench

pytestmark = pytest.mark.docker
TASK = replace(benchmark("demo").load("ledger"), spec=workbench(user="agent"))


def text(submission: Archive | Image | Live, script: str) -> str:
    with opened(submission, TASK, make, LogReporter()) as place:
        assert place.processes_kept is isinstance(submission, Live)
        return place.environment.execute(script, deadline_s=20).output.decode()


def test_an_archive_replaces_the_workspace_and_an_image_brings_the_system(tmp_path: Path) -> None:
    packed = archive(tmp_path / "it.tar.zst", ("./answer", "from the archive"))
    assert text(Archive(packed), "ls -A; cat answer") == "answer\nfrom the archive"
    environment = make(workbench(user="agent"))
    started = environment.start()
    assert isinstance(environment, Checkpointing)
    reference = ""
    try:
        environment.execute("touch /etc/installed; sleep 99 &", deadline_s=20, as_root=True)
        reference = environment.checkpoint("test-opening")
        look = "ls /etc/installed; cat /proc/[0-9]*/comm | grep -c sleep"
        assert text(Live(environment, started, reference), look) == "/etc/installed\n1\n"
        assert text(Image(reference), look) == "/etc/installed\n0\n"
        environment.execute("true", deadline_s=20)  # it still lives: whoever hands it over releases it
    finally:
        environment.stop()
        if reference:
            daemon.connect().remove_image(reference)


def test_a_submission_that_cannot_be_opened_has_its_cause(tmp_path: Path) -> None:
    with pytest.raises(EvaluatorFailed, match="retrace-checkpoint:gone"):
        text(Image("retrace-checkpoint:gone"), "true")
    broken = archive(tmp_path / "it.tar.zst", ("./file", "x"), ("./file/below", "y"))
    with pytest.raises(SubmissionFailed, match="cannot be unpacked"):
        text(Archive(broken), "true")
