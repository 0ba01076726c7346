"""The completion of the shell: the real bash, with the script that `agent --show-completion` prints."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand

from agent.cli import completion

ROOT = Path(__file__).parents[2]
PROGRAM = f"""#!{sys.executable}
import sys
sys.argv[0] = "agent"
from agent.cli.main import main
try:
    main()
finally:
    with open({{log!r}}, "w") as file:
        print(*{{{{name.partition(".")[0] for name in sys.modules}}}}, file=file)
"""
SLOW = {"docker", "jinja2", "litellm", "matplotlib", "numpy", "openai", "prompt_toolkit", "pygments", "rich", "scipy"}
COMPLETE = """
source completion.sh
COMP_WORDS=("${@:2}") COMP_CWORD=$1
_agent_completion agent
printf '%s\\n' "${COMPREPLY[@]}"
"""
"""What readline does at the tab key: it calls the function that is registered for the command."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `agent`, its completion for bash, two trials and a script."""
    home = tmp_path_factory.mktemp("home")
    program = home / "bin" / "agent"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(log=str(home / "modules")))
    program.chmod(0o755)
    for trial in ("single/ledger.opus.1a.1", "study/figlet.opus.2b.1"):
        (home / "runs" / trial).mkdir(parents=True)
        (home / "runs" / trial / "events.jsonl").touch()
    (home / "runs" / "single" / "ledger-notes").mkdir()
    (home / "turns.yaml").touch()
    script = bash(home, "agent --show-completion; true")
    (home / "completion.sh").write_text(script)
    return home


def bash(home: Path, script: str, *arguments: str) -> str:
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
    variables |= {"HOME": str(home), "RETRACE_CONFIG_DIR": str(home / "config"), "SHELL": "/bin/bash"}
    command = ["bash", "--norc", "-uo", "pipefail", "-c", script, "bash", *arguments]
    result = subprocess.run(command, cwd=home, env=variables, capture_output=True, text=True)
    assert result.stderr == "", result.stderr
    assert result.returncode == 0
    return result.stdout


def completed(home: Path, *words: str) -> list[str]:
    """Return what bash offers for the last of the words, which it has cut at `:` and `=`."""
    return bash(home, COMPLETE, str(len(words)), "agent", *words).split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("so",), ["solve"]),
        (("prices", "sn"), ["snapshot"]),
        (("solve", "--ta"), ["--task"]),
        (("solve", "--task", "demo/l"), ["demo/ledger"]),
        (("solve", "--model", "=", "son"), ["sonnet"]),
        (("solve", "--model", "script", ":", "tu"), ["turns.yaml"]),
        (("solve", "--model", "=", "replay", ":", "runs/st"), ["runs/study/figlet.opus.2b.1"]),
        (("score", "ledger.opus.1a.1", "fig"), ["figlet.opus.2b.1"]),
        (("show", "--runs", "elsewhere", "led"), []),
        (("solve", "--plan", "tu"), []),
    ],
)
def test_bash_completes(home: Path, words: tuple[str, ...], offered: list[str]) -> None:
    assert completed(home, *words) == offered
    assert not set((home / "modules").read_text().split()) & SLOW


def test_the_values_of_options_and_arguments(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    context = typer.Context(TyperCommand("show"))
    assert completion.tasks("ledg") == ["ledger"]
    assert completion.tasks("programbench/ffmpeg") == ["programbench/ffmpeg__ffmpeg.360a402"]
    assert completion.benchmarks("") == ["demo", "programbench"]
    assert {"opus", "human", "replay:runs/single/ledger.opus.1a.1"} <= set(completion.models(context, ""))
    assert completion.aliases("son") == ["sonnet"]
    assert completion.trials(context, "ledger") == ["ledger.opus.1a.1"]
    assert completion.trials(context, "runs/si") == []
    assert completion.kinds("d") == ["docker"]
    assert completion.shells("p") == ["persistent"]
    assert "default" in completion.prompts("d")
    assert any(name.startswith("litellm") for name in completion.prices("l"))


def test_a_broken_file_of_the_user_prints_nothing_into_the_line(home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "models.yaml").write_text("a: [")
    (home / "config" / "config.yaml").write_text("a: [")
    try:
        assert completed(home, "solve", "--model", "son") == []
        assert completed(home, "show", "led") == []
    finally:
        for file in ("models.yaml", "config.yaml"):
            (home / "config" / file).unlink()
