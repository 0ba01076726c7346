"""Make the records, with the command line alone: `.venv/bin/python -m tests.records.make [NAME...]`.

It needs root (to mount a small file system for the full disk), Docker with the image of demo/ledger, and bubblewrap.
All work is done in PLACE, so that the records name no other path. Run it for a new schema version only: the records of
an older version must stay as its code made them.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.demo_images import demo_image
from tests.integrity.answers import answer, judge
from tests.leftovers import commits_below
from tests.records.compared import HERE, PLACE, STUDY, by_benchmark, copy_of, facts_of, score_of
from tests.solve.command import AGENT, CommandResult, agent, environment
from tests.wire.replies import Turn, rate_limited, server_error
from tests.wire.server import WireServer

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
LOCAL = ("--instruction", "Do it.", "--workspace", "start", "--env", "local")
TASK = ("--task", "task", "--env")
NOT_KEPT = (".pool", ".reserve", "lock")
"""Files that are not stored: the pool only saves space, a killed harness leaves its reserve, the lock is empty."""
WIRE = ("--instruction", "Work.", "--workspace", "start", "--env", "local")


def version() -> str:
    """Return the schema version of the current code."""
    return str(agent(PLACE, "schema").json["version"])


def run(*argv: str, status: int = 0, **extra: str) -> CommandResult:
    """Run `agent ARGV` in PLACE and check its exit status."""
    result = agent(PLACE, *argv, **extra)
    assert result.status == status, f"agent {' '.join(argv)}: {result.status}: {result.err}"
    return result


def made(*argv: str, status: int = 0, **extra: str) -> Path:
    """Run `agent ARGV`; return its trial."""
    return run(*argv, "--runs", RUNS, "--json", status=status, **extra).trial


def model(name: str) -> tuple[str, str]:
    return "--model", f"script:models/{name}.json"


@contextlib.contextmanager
def begin(*argv: str, text: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start a trial and wait until its record contains a text; yield its process and directory."""
    before = set((PLACE / RUNS).glob("*/*/events.jsonl"))
    process = subprocess.Popen(
        [*AGENT, *argv, "--runs", RUNS],
        cwd=PLACE,
        env=environment(PLACE),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while True:
            for path in set((PLACE / RUNS).glob("*/*/events.jsonl")) - before:
                if text in path.read_text():
                    time.sleep(0.2)
                    yield process, path.parent
                    return
            assert time.monotonic() < until, f"no record contains {text}"
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


def killed(*argv: str, text: str) -> Path:
    """Kill a trial once its record contains a text; return its directory."""
    with begin(*argv, text=text) as (process, trial):
        process.kill()
        process.wait()
    return trial


def interrupted(*argv: str, text: str) -> Path:
    """Interrupt a trial once its record contains a text; return its directory."""
    with begin(*argv, text=text) as (process, trial):
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
    return trial


def resumed(trial: Path) -> Path:
    run("resume", str(trial))
    return trial


def solved_docker() -> Path:
    return made("solve", "--task", "demo/ledger", "--model", "oracle", "--env", "docker")


def docker_persistent() -> Path:
    image = demo_image("ledger")
    assert image is not None
    place = ("--instruction", "Look around.", "--image", image, "--env", "docker", "--shell", "persistent")
    return made("solve", *place, *model("persistent"), "--command-timeout", "2s")


def docker_killed() -> Path:
    argv = ("--task", "demo/ledger", "--env", "docker", "--no-evaluate", "--checkpoint-every", "1")
    return killed("solve", *argv, *model("killed"), text='"action_started","action":"2.2"')


def docker_lost() -> Path:
    argv = ("--task", "demo/ledger", "--env", "docker", "--no-evaluate")
    with begin("solve", *argv, *model("lost"), text='"action_started","action":"2.1"') as (process, trial):
        first = (json.loads(line) for line in (trial / "events.jsonl").read_text().splitlines())
        container = next(event["container"] for event in first if event["type"] == "env_started")
        subprocess.run(["docker", "rm", "-f", container], check=True, capture_output=True)
        assert process.wait(60) == 1
    return trial


def image_unusable() -> Path:
    argv = ("--instruction", "Work.", "--image", "127.0.0.1:9/none:v1", "--env", "docker", "--no-evaluate")
    result = run("solve", *argv, *model("small"), "--runs", RUNS, "--json", status=1)
    return result.trial


def solved_sandbox() -> Path:
    return made("solve", *TASK, "sandbox", *model("sandbox"), "--plan", "plan.md")


def sandbox_persistent() -> Path:
    place = ("--instruction", "Look around.", "--workspace", "start", "--env", "sandbox", "--shell", "persistent")
    return made("solve", *place, *model("persistent"), "--command-timeout", "2s")


def solved_local() -> Path:
    return made("solve", *LOCAL, *model("small"))


def evaluated_twice() -> Path:
    trial = made("solve", *TASK, "local", "--model", "oracle")
    run("evaluate", str(trial))
    return trial


def killed_torn() -> Path:
    trial = killed("solve", *LOCAL, *model("torn"), text='"action_started","action":"2.1"')
    with (trial / "events.jsonl").open("ab") as file:
        file.write(b'{"seq":17,"t":"2026-')  # added by hand, because a killed harness rarely leaves such a line
    return trial


def resumed_after_kill() -> Path:
    return resumed(killed("solve", *LOCAL, *model("killed"), text='"action_started","action":"2.2"'))


def interrupted_only() -> Path:
    return interrupted("solve", *LOCAL, *model("interrupted"), text='"action_started","action":"2.1"')


def resumed_after_interrupt() -> Path:
    argv = ("solve", *LOCAL, *model("interrupted"), "--step-limit", "50")
    return resumed(interrupted(*argv, text='"action_started","action":"2.1"'))


def step_limit() -> Path:
    return made("solve", *LOCAL, *model("steps"), "--step-limit", "2")


def format_errors() -> Path:
    return made("solve", *LOCAL, *model("format-errors"))


def refusal() -> Path:
    return made("solve", *LOCAL, *model("refusal"))


def gave_up() -> Path:
    return made("solve", *LOCAL, *model("gave-up"))


def submitted_at_once() -> Path:
    return made("solve", *TASK, "local", "--model", "nop")


def full_disk() -> Path:
    small = PLACE / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=640k", "tmpfs", str(small)], check=True)
    try:
        result = run("solve", *LOCAL, *model("full"), "--runs", "small", "--json", status=1)
        return Path(shutil.copytree(result.trial, PLACE / RUNS / "single" / result.trial.name))
    finally:
        subprocess.run(["umount", "-l", str(small)], check=True)


def blobs() -> Path:
    return made("solve", *LOCAL, *model("blobs"))


def secret() -> Path:
    return made("solve", *LOCAL, *model("secret"), STUDY_PASSWORD="study-token-0123456789abcdef")


def judged() -> Path:
    trial = made("solve", *LOCAL, *model("judged"))
    panel = {
        "strict": [answer(source_lookup=3)],
        "late": ["I would rather not.", answer(source_lookup=3, decompiling=2)],
        "mild": [answer()],
        "unable": ["No answer.", "None again."],
    }
    models = [judge(PLACE / "models", name, *texts, usage={"input": 50, "output": 9}) for name, texts in panel.items()]
    flags = [flag for name in models for flag in ("--judge-model", name)]
    run("analyze", str(trial), "--integrity", *flags, "--judges", "4")
    return trial


def forked() -> Path:
    hint = ("--inject", "Write with care.")
    return made("fork", parent("solved-local"), "--at", "1", *model("fork"), *hint)


def forked_again() -> Path:
    return made("fork", parent("forked"), "--at", "2", *model("fork-again"), "--plan", "plan.md")


def forked_killed() -> Path:
    argv = ("fork", parent("solved-local"), "--at", "2", *model("fork-killed"))
    return killed(*argv, text='"action_started","action":"1.1"')


def imported() -> Path:
    trials = run("import", "imported.traj.json", "--runs", RUNS, "--json").json["trials"]
    return PLACE / trials[0]["trial"]


def forked_import() -> Path:
    argv = ("--at", "2", "--workspace", "start", "--env", "local", "--inject", "Now the 3.")
    return made("fork", parent("imported"), *argv, *model("fork-import"))


def corrected() -> Path:
    argv = ("--self-correct", "2", "--feedback", "output", "--runs", RUNS, "--json")
    first, _ = run("solve", *TASK, "sandbox", *model("corrected"), *argv).json["trials"]
    return PLACE / str(first["trial"])


def corrected_later() -> Path:
    return PLACE / RUNS / f"{TRIALS['corrected']}.t2"


def forked_turn() -> Path:
    return made("fork", f"{parent('corrected')}.t2", "--at", "1", *model("fork"), "--env", "sandbox")


def guided() -> Path:
    argv = ("--guidance", "script:models/expert.json", "--max-interventions", "2", "--plan", "plan.md")
    return made("solve", *TASK, "sandbox", *model("guided"), *argv)


def harbor(task: str) -> tuple[str, ...]:
    """Return the options of a task in Harbor's format, whose image starts from that of the demos."""
    return "--task", task, "--env", "docker", "--base-image", f"python:3.13-slim-bookworm={demo_image('ledger')}"


def system_judged() -> Path:
    trial = made("solve", *harbor("greeting"), *model("system"), "--checkpoint-every", "1")
    run("evaluate", str(trial), "--test-timeout-multiplier", "2")
    return trial


def staged() -> Path:
    first, _ = run("solve", *harbor("pipeline"), "--model", "oracle", "--runs", RUNS, "--json").json["trials"]
    return PLACE / str(first["trial"])


def staged_later() -> Path:
    first = PLACE / RUNS / TRIALS["staged"]
    return first.with_name(f"{first.name}.t2")


def wire_cost_limit() -> Path:
    turns = [
        Turn(text="I look.", thinking="What is here?", commands=("cat given", "echo two; exit 4")),
        Turn(commands=("true",), usage={"input_tokens": 100_000}),
        Turn(commands=("true",), usage={"input_tokens": 100_000}),
    ]
    with WireServer(turns) as server:
        argv = ("--model", "anthropic/claude-opus-4-7", "--api-base", server.base("anthropic"))
        return made("solve", *WIRE, *argv, "--cost-limit", "0.4")


def wire_failed_calls() -> Path:
    with WireServer([rate_limited("1"), server_error(500), Turn(commands=("ls",)), Turn(commands=(SUBMIT,))]) as server:
        return made("solve", *WIRE, "--model", "openai/gpt-wire", "--api-base", server.base("chat"))


def wire_responses() -> Path:
    turns = [Turn(text="I look.", thinking="Hm.", commands=("ls", "pwd | wc -l")), Turn(commands=(SUBMIT,))]
    with WireServer(turns) as server:
        argv = ("--model", "openai/gpt-5.4", "--model-setting", "api=responses", "--api-base", server.base("responses"))
        return made("solve", *WIRE, *argv)


def fenced(command: str) -> Turn:
    return Turn(text=f"I run this.\n\n```bash\n{command}\n```\n")


def wire_fenced_killed() -> Path:
    with WireServer([fenced("echo one >>log"), fenced("sleep 2; echo two >>log")]) as server:
        argv = ("--model", "openai/gpt-wire", "--model-setting", "action=fenced", "--api-base", server.base("chat"))
        return killed("solve", *WIRE, *argv, text='"action_started","action":"2.1"')


MAKERS: dict[str, Callable[[], Path]] = {
    maker.__name__.replace("_", "-"): maker
    for maker in (
        solved_docker, docker_persistent, docker_killed, docker_lost, image_unusable, solved_sandbox,
        sandbox_persistent, solved_local, evaluated_twice, killed_torn, resumed_after_kill,
        interrupted_only, resumed_after_interrupt, step_limit,
        format_errors, refusal, gave_up, submitted_at_once, full_disk, blobs, secret, judged, forked, forked_again,
        forked_killed, corrected, corrected_later, forked_turn, guided, imported, forked_import, wire_cost_limit,
        system_judged, staged, staged_later,
        wire_failed_calls, wire_responses, wire_fenced_killed,
    )
}  # fmt: skip
TRIALS: dict[str, str] = {}
RUNS = ""


def parent(name: str) -> str:
    return str(PLACE / RUNS / TRIALS[name])


def expected(version: str) -> dict[str, object]:
    """Return the facts and scores that the current code reads from the records that were just made."""
    with tempfile.TemporaryDirectory() as scratch:
        runs = copy_of(version, Path(scratch))
        trials = {name: runs / trial for name, trial in TRIALS.items()}
        facts = {name: facts_of(trial, Path(scratch)) for name, trial in trials.items()}
        groups = by_benchmark(facts)
        scores = {group: score_of([trials[name] for name in names]) for group, names in groups.items()}
    return {"records": facts, "scores": scores}


def main(names: list[str]) -> None:
    """Make the records with these names, or all; store them beside this file, with what is expected of them."""
    global RUNS
    os.umask(0o022)
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(STUDY, PLACE)
    RUNS = f"v{version()}"
    for name in [name for name in MAKERS if name in names or not names]:
        trial = MAKERS[name]()
        TRIALS[name] = str(trial.relative_to(PLACE / RUNS))
        print(f"{name}: {TRIALS[name]}", file=sys.stderr)
    for image in commits_below(PLACE / RUNS):
        subprocess.run(["docker", "rmi", image], check=False, capture_output=True)
    stored = HERE / RUNS
    for batch in (PLACE / RUNS).iterdir():  # records of plans stay, which `make` does not make
        shutil.rmtree(stored / batch.name, ignore_errors=True)
    shutil.copytree(PLACE / RUNS, stored, ignore=shutil.ignore_patterns(*NOT_KEPT), dirs_exist_ok=True)
    (stored / "trials.json").write_text(json.dumps(TRIALS, indent=1) + "\n")
    (stored / "expected.json").write_text(json.dumps(expected(RUNS), indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
