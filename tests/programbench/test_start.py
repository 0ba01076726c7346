"""The start of a trial of an instance in Docker: its container, its prompt, and unusable images."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from benchmarks.programbench import instances
from tests.programbench.own import make_instance
from tests.solve.command import CommandResult, agent, script
from trajectories.record.events import ActionFinished, CallStarted, EnvStarted, Message, TrialStarted, Warned

pytestmark = pytest.mark.docker

ORGANIZATION = "retrace-test"
CLEAN_ROOM = """
FROM {base}
USER root
RUN rm -rf /workspace && mkdir /workspace && cd /workspace && echo 'Prints hello.' > README.md \\
 && git init -q && git add . && git -c user.name=x -c user.email=x@x commit -qm docs && chown -R agent: /workspace \\
 && cp /bin/true executable && chmod 0111 executable
WORKDIR /workspace
"""


@dataclass(frozen=True)
class Instance:
    """An instance of the user's own, and its image."""

    id: str
    folder: Path
    image: str

    def agent(self, *argv: str) -> CommandResult:
        variables = {instances.TASKS_VARIABLE: str(self.folder / "tasks"), "PROGRAMBENCH_DOCKER_ORG": ORGANIZATION}
        return agent(self.folder, *argv, **variables)

    def solve(self, *turns: object, options: tuple[str, ...] = ()) -> CommandResult:
        model = script(self.folder, *turns)
        return self.agent("solve", "--task", self.id, "--model", model, "--no-evaluate", "--json", *options)


def _made(folder: Path, dockerfile: str) -> Iterator[Instance]:
    """Make an instance with a unique name, so that parallel test runs do not share one."""
    id = make_instance(folder / "tasks", f"us/tool-{uuid.uuid4().hex[:8]}", language="go")
    image = f"{ORGANIZATION}/{id.replace('__', '_1776_')}:{instances.IMAGE_TAG}"
    subprocess.run(["docker", "build", "-q", "-t", image, "-"], input=dockerfile.encode(), check=True, timeout=150)
    try:
        yield Instance(id, folder, image)
    finally:
        subprocess.run(["docker", "rmi", "-f", image], check=False, capture_output=True)


@pytest.fixture
def instance(tmp_path: Path, workbench_image: str) -> Iterator[Instance]:
    """Return an instance with a clean-room image."""
    yield from _made(tmp_path, CLEAN_ROOM.format(base=workbench_image))


def test_a_trial_has_the_benchmarks_conditions_as_far_as_the_host_allows(instance: Instance) -> None:
    look = (
        "id -un; pwd; echo $PAGER $MANPAGER $LESS $PIP_PROGRESS_BAR $TQDM_DISABLE; ls; git status --short; "
        "test -r executable || echo unreadable; ./executable && echo runs; ls /sys/class/net"
    )
    commit = (
        "rm -rf .git && git init -q . && echo 1 >a && git add a && git commit -qm one && git log --format='%an %ae'"
    )
    result = instance.solve(look, commit, SUBMIT)
    assert result.status == 0, result.err
    seen, committed, *_ = [event.output.text for event in result.events if isinstance(event, ActionFinished)]
    assert seen.split() == [
        *("agent", "/workspace", "cat", "cat", "-R", "off", "1"),
        *("README.md", "executable", "??", "executable", "unreadable", "runs", "lo"),
    ]
    assert committed.strip() == "Retrace agent agent@retrace.invalid"

    (started,) = [event for event in result.events if isinstance(event, EnvStarted)]
    lowered = {limit.limit: limit.asked for limit in started.lowered}
    host_cpus = int(subprocess.check_output(["docker", "info", "-f", "{{.NCPU}}"]))
    host_bytes = int(subprocess.check_output(["docker", "info", "-f", "{{.MemTotal}}"]))
    wanted = {}
    if host_cpus < 20:
        wanted["cpus"] = "20"
    if host_bytes < 60 << 30:
        wanted["memory_bytes"] = str(60 << 30)
    assert lowered == wanted
    warnings = [event.text for event in result.events if isinstance(event, Warned) and event.kind == "limit_lowered"]
    assert [line.partition(":")[0] for line in warnings] == list(wanted)
    if host_cpus < 20:
        assert f"cpus: 20 asked, {host_cpus} given" in warnings

    prompt = next(event.content for event in result.events if isinstance(event, Message) and event.why == "task")
    assert prompt.startswith("A compiled program and its documentation are given.")
    assert "There is no network." in prompt
    assert "1000 replies, 360 minutes" in prompt


def test_nothing_of_ours_names_the_program_to_the_model(instance: Instance) -> None:
    """The name of the task is not in the messages, the environment, or what a process can see of its container."""
    look = "env; hostname; cat /proc/self/mounts /proc/self/cgroup /etc/hosts; ps -ef; ls -laR /run /tmp; git config -l"
    result = instance.solve(look, SUBMIT)
    assert result.status == 0, result.err
    texts = [event.content for event in result.events if isinstance(event, Message)]
    assert any("/workspace" in text for text in texts)
    program = instance.id.partition("__")[2].partition(".")[0]
    assert [text for text in texts if program in text or "programbench" in text.lower()] == []


def test_resume_and_fork_keep_the_variants(instance: Instance) -> None:
    chosen = ("--variant", "other-language", "--variant", "internet")
    first = instance.solve(
        "ls /sys/class/net", {"fail": {"error": "authentication", "status": 401}}, SUBMIT, options=chosen
    )
    assert first.json["exit"]["cause"] == "model_unavailable", first.err
    assert first.json["variant"] == "internet+other-language"
    prompt = next(event.content for event in first.events if isinstance(event, Message) and event.why == "task")
    assert "must be written in another programming language: no part of it may be in Go" in prompt
    assert "You have internet access" in prompt
    assert "There is no network" not in prompt

    fork = ["fork", str(first.trial), "--at", "1", "--model", script(instance.folder, "true", SUBMIT)]
    for argv in (["resume", str(first.trial)], fork):
        result = instance.agent(*argv, "--json")
        assert (result.status, result.json["exit"]["cause"]) == (0, "submitted"), result.err
        start = result.events[0]
        assert isinstance(start, TrialStarted)
        assert (start.variant, start.environment_spec["network"]) == ("internet+other-language", True)
        assert start.options["variants"] == ["other-language", "internet"]
        assert start.options["task"] == f"programbench/{instance.id}", "not the short name, which may come to mean more"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("rm /workspace/executable", "has no program /workspace/executable that agent can run"),
        ("chmod 0644 /workspace/executable", "has no program /workspace/executable that agent can run"),
        ("rm $(command -v git)", "has no git"),
    ],
)
def test_an_image_that_is_not_a_clean_room_is_one_line(
    tmp_path: Path, workbench_image: str, change: str, message: str
) -> None:
    for instance in _made(tmp_path, CLEAN_ROOM.format(base=workbench_image) + f"RUN {change}\n"):
        result = instance.solve(SUBMIT)
        assert result.status == 1
        assert result.json["exit"]["reason"] == "infrastructure"
        assert f"programbench/{instance.id}: the image {instance.image} {message}" in result.json["exit"]["detail"]
        assert "Traceback" not in result.err
        assert result.json["steps"] == 0


def test_the_error_for_a_failed_pull_quotes_the_daemon(tmp_path: Path) -> None:
    closed = "127.0.0.1:9"
    result = agent(
        tmp_path, "solve", "--task", "ffmpeg", "--model", script(tmp_path, SUBMIT), PROGRAMBENCH_DOCKER_ORG=closed
    )
    image = f"{closed}/ffmpeg_1776_ffmpeg.360a402:task_cleanroom_v6"
    direct = subprocess.run(["docker", "pull", image], capture_output=True, text=True)
    daemon_error = direct.stderr.strip().removeprefix("Error response from daemon: ")
    assert "connection refused" in daemon_error
    assert result.status == 1
    (line,) = [line for line in result.err.splitlines() if line.startswith("exit: ")]
    assert line.startswith(f"exit: infrastructure: image_unusable (pulling {image} failed: ")
    assert "connection refused" in line


def test_an_own_image_without_the_evaluators_modules_is_refused_before_the_model_is_asked(instance: Instance) -> None:
    model = script(instance.folder, "echo hello", SUBMIT)
    result = instance.agent("solve", "--task", instance.id, "--model", model, "--json")
    assert (result.status, result.json["exit"]["cause"]) == (1, "image_unusable"), result.err
    assert "has no xdist for python3 and no pytest_timeout for python3" in result.json["exit"]["detail"]
    assert not any(isinstance(event, CallStarted) for event in result.events)
