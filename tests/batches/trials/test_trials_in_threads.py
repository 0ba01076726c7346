"""Trials side by side in threads of one process: the records of trials alone, and stops that end a trial at once."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from agent.loop.actions import SUBMIT
from agent.trial.order import Order
from agent.trial.outcome import INTERRUPTED
from tests.batches.trials.side_by_side import Running, order_for, run_trials
from tests.demo_images import demo_image
from tests.solve.chains import make_task
from tests.solve.command import script
from tests.wire.replies import Fault, Turn, rate_limited
from tests.wire.server import WireServer
from trajectories.checks.check import check
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    BaseEvent,
    CallFailed,
    Evaluated,
    EvaluationStarted,
    Exited,
    WorkspaceExported,
)

pytestmark = pytest.mark.sandbox

ENVIRONMENT_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ENVIRONMENT_KEYS:
        monkeypatch.setenv(name, "sk-wire-key")


def commands(number: int) -> list[str]:
    return [
        f"echo trial {number} > mine; umask; pwd; ls -a",
        f"mkdir d{number} && cd d{number} && yes {number} | head -c 20000 > f; umask 000; touch g",
        f"for i in $(seq 20); do echo {number}.$i; sleep 0.01; done; cat mine; exit {number % 3}",
        SUBMIT,
    ]


def replies(body: dict[str, Any]) -> Turn:
    """Answer the number of the trial, which stands in its prompt, with the command of its step."""
    messages = body["messages"]
    number = int(str(messages).split("trial-number-", 1)[1].split("!", 1)[0])
    step = sum(message["role"] == "assistant" for message in messages)
    return Turn(text=f"Step {step} of {number}.", commands=(commands(number)[step],))


TIMES = ("t", "seconds", "mono_s", "mtime_ns", "duration_s", "latency_s", "cpu_s", "wall_s", "tokens_per_s")
OWN = (
    "trial",
    "attempt",
    "identity",
    "options",
    "environment_spec",
    "usage_raw",
    "peak_memory_bytes",
    "api_base",
    "container",
    "reply_id",
)


def plain(value: Any) -> Any:
    """Return what of a record must not depend on other trials beside it."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in TIMES + OWN}
    return value


def content(trial: Running) -> list[Any]:
    kept = [plain(json.loads(event.model_dump_json())) for event in trial.record]
    for values in kept:
        if values["type"] == "workspace_exported":  # the archive holds times
            del values["sha256"], values["bytes"]
    return kept


@pytest.mark.parametrize("env", ["sandbox", pytest.param("docker", marks=pytest.mark.docker)])
def test_eight_trials_at_once_leave_the_records_of_trials_alone(tmp_path: Path, keys: None, env: str) -> None:
    if env == "docker":
        demo_image("ledger")
    (tmp_path / "start").mkdir()
    scripts = [script(tmp_path, *commands(number)) for number in range(4)]

    def orders(batch: str, servers: ExitStack) -> list[Order]:
        made = []
        for number in range(4):
            shell = "persistent" if number % 2 and env == "sandbox" else "fresh"
            made.append(order_for(tmp_path, scripts[number], batch=f"{batch}-{number}", env=env, shell=shell))
        for number in range(4, 8):
            base = servers.enter_context(WireServer(replies)).base("chat")
            options = {"task": None, "workspace": tmp_path / "start", "instruction": f"Do trial-number-{number}!"}
            made.append(order_for(tmp_path, "openai/gpt-wire", batch=f"{batch}-{number}", api_base=base, **options))
        return made

    with ExitStack() as servers:
        alone = [run_trials([order])[0] for order in orders("alone", servers)]
        together = run_trials(orders("together", servers))
    assert [trial.outcome.exit.cause for trial in together if trial.outcome] == ["submitted"] * 8
    for one, other in zip(alone, together, strict=True):
        for ours, theirs in zip(content(one), content(other), strict=True):
            assert ours == theirs
        assert problems(other) == []


def problems(trial: Running) -> list[str]:
    assert trial.outcome is not None
    return [finding.text for finding in check(trial.outcome.directory).findings if not finding.warning]


def started_action(events: Sequence[BaseEvent]) -> bool:
    return any(isinstance(event, ActionStarted) for event in events)


def failed_call(events: Sequence[BaseEvent]) -> bool:
    return any(isinstance(event, CallFailed) for event in events)


def ended_by_stop(trial: Running) -> None:
    trial.stop.set()
    outcome = trial.end()
    assert outcome.interrupted
    exits = [event.exit for event in trial.record if isinstance(event, Exited)]
    assert [(exit.reason, exit.cause) for exit in exits] == [("user", "interrupted")]
    assert problems(trial) == []


@pytest.mark.parametrize("env", ["sandbox", pytest.param("docker", marks=pytest.mark.docker)])
@pytest.mark.parametrize("shell", ["fresh", "persistent"])
def test_a_stop_ends_a_command(tmp_path: Path, env: str, shell: str) -> None:
    if env == "docker":
        demo_image("ledger")
    order = order_for(tmp_path, script(tmp_path, "echo before; sleep 3600", SUBMIT), env=env, shell=shell)
    trial = Running(order).start()
    trial.reach(started_action)
    time.sleep(0.2)
    ended_by_stop(trial)
    assert [event.ended for event in trial.record if isinstance(event, ActionFinished)] == ["interrupted"]


def test_a_stop_ends_a_call_of_a_model(tmp_path: Path, keys: None) -> None:
    with WireServer([Fault("stall")]) as server:
        trial = Running(order_for(tmp_path, "openai/gpt-wire", api_base=server.base("chat"))).start()
        trial.reach(lambda _: server.requests)
        ended_by_stop(trial)
    (failed,) = [event for event in trial.record if isinstance(event, CallFailed)]
    assert (failed.error, failed.usage) == ("interrupted", None)


def test_a_stop_ends_the_wait_for_a_retry(tmp_path: Path, keys: None) -> None:
    with WireServer(lambda _: rate_limited("3000")) as server:
        trial = Running(order_for(tmp_path, "openai/gpt-wire", api_base=server.base("chat"))).start()
        trial.reach(failed_call)
        ended_by_stop(trial)


def test_a_stop_ends_only_its_own_trial(tmp_path: Path) -> None:
    """Eight trials run; each second one is stopped, and the others come to their end."""
    model = script(tmp_path, "until test -e go; do sleep 0.05; done", SUBMIT)
    starts = [tmp_path / f"start-{number}" for number in range(8)]
    trials = []
    for start in starts:
        start.mkdir()
        options = {"task": None, "workspace": start, "instruction": "Wait here."}
        trials.append(Running(order_for(tmp_path, model, env="local", batch=start.name, **options)).start())
    for trial in trials:
        trial.reach(started_action)
    for trial in trials[::2]:
        ended_by_stop(trial)
    for trial in trials[1::2]:
        place = next(event.workdir for event in trial.events if event.type == "env_started")
        Path(place, "go").touch()
        assert trial.end().exit.cause == "submitted"


@pytest.mark.docker
def test_a_stop_ends_the_build_of_an_image(tmp_path: Path) -> None:
    base = demo_image("ledger")
    task = tmp_path / "mine"
    make_task(tmp_path, "docker", "image: {build: {context: image}}\n")
    (task / "image").mkdir()
    (task / "image" / "Dockerfile").write_text(f"FROM {base}\nRUN sleep 3600\n")
    trial = Running(order_for(tmp_path, script(tmp_path, SUBMIT), task=str(task), env="docker")).start()
    trial.reach(lambda _: trial.notes)
    time.sleep(0.5)
    ended_by_stop(trial)


def test_a_stop_ends_the_export(tmp_path: Path) -> None:
    fill = "head -c 300000000 /dev/urandom >big"
    trial = Running(order_for(tmp_path, script(tmp_path, fill, SUBMIT), token_limit=10**9)).start()
    trial.reach(lambda events: any(isinstance(event, Exited) for event in events))
    trial.stop.set()
    outcome = trial.end()
    assert outcome.interrupted
    assert not any(isinstance(event, WorkspaceExported) for event in trial.record)
    assert problems(trial) == []


@pytest.mark.parametrize("env", ["sandbox", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_stop_ends_the_evaluation(tmp_path: Path, env: str) -> None:
    image = f"image: {{reference: '{demo_image('ledger')}'}}\n" if env == "docker" else ""
    make_task(tmp_path, env, image, suite_first="import time; time.sleep(3600)")
    task = str(tmp_path / "mine")
    trial = Running(order_for(tmp_path, script(tmp_path, SUBMIT), task=task, env=env, evaluate=True)).start()
    trial.reach(lambda events: any(isinstance(event, EvaluationStarted) for event in events))
    time.sleep(0.5)
    trial.stop.set()
    outcome = trial.end()
    assert (outcome.exit.cause, outcome.interrupted) == ("submitted", True)
    (evaluated,) = [event for event in trial.record if isinstance(event, Evaluated)]
    assert (evaluated.verdict, evaluated.why_none) == (None, INTERRUPTED)
    assert problems(trial) == []
