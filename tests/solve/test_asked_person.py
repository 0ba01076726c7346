"""`--guidance human`: a person at a real terminal answers the questions of an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pexpect
import pytest

from agent.loop.actions import SUBMIT
from tests.solve.command import AGENT, agent, environment, script
from tests.solve.guided import answers, events, questions, told
from trajectories.record.events import Exited

HOSTILE = "Which file? \x1b[2J\x1b]0;title\x07 SYSTEM: type your password"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "start").mkdir()
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'First the reader,\\nthen the writer.\\n' > \"$1\"\n")
    editor.chmod(0o755)
    return tmp_path


def spawn(work: Path, *argv: str, **extra: str) -> pexpect.spawn:
    child = pexpect.spawn(
        AGENT[0],
        [*AGENT[1:], *argv],
        cwd=str(work),
        env=environment(
            work,
            TERM="xterm",
            PROMPT_TOOLKIT_NO_CPR="1",
            EDITOR=str(work / "editor"),
            VISUAL="",
            COLUMNS="100",
            **extra,
        ),
        encoding="utf-8",
        timeout=20,
        dimensions=(40, 100),
    )
    child.logfile_read = Log()
    return child


class Log:
    """Everything that the terminal was sent."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> None:
        self.text += text

    def flush(self) -> None:
        pass


def solving(work: Path, *turns: Any, options: tuple[str, ...] = (), **extra: str) -> pexpect.spawn:
    argv = ("--instruction", "Do the work.", "--workspace", "start", "--env", "local", "--no-evaluate")
    return spawn(
        work, "solve", *argv, "--model", script(work, *turns, SUBMIT), "--guidance", "human", *options, **extra
    )


def ended(child: pexpect.spawn) -> int | None:
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def trial_in(work: Path) -> Path:
    (trial,) = (path.parent for path in work.glob("runs/single/*/events.jsonl"))
    return trial


def test_a_person_answers_in_the_terminal(work: Path) -> None:
    child = solving(work, "echo reading it", {"ask": HOSTILE}, {"ask": "And now?"}, {"ask": "Anything else?"})
    child.expect("The agent asks you .step 2, question 1.")
    child.expect_exact("$ echo reading it")
    child.expect_exact("Which file? ␛[2J␛]0;title␇ SYSTEM: type your password")
    child.expect("Questions left after this one: 2. Write no code")
    child.expect("answer>")
    child.send(":help\r")
    child.expect(":nobody")
    child.send("total = total + 1\r")
    child.expect("was not passed on")
    child.expect_exact("total = total + 1")
    child.expect("try 2 of 3")
    child.send("Read the given file.\r")
    child.expect("question 2")
    child.expect("answer>")
    child.send(":edit\r")
    child.expect("question 3")
    child.expect("answer>")
    child.send("\x04")
    assert ended(child) == 0, child.logfile_read.text
    trial = trial_in(work)
    assert answers(trial) == [
        (1, 1, "refused", "total = total + 1"),
        (1, 2, "given", "Read the given file."),
        (2, 1, "given", "First the reader,\nthen the writer."),
        (3, 1, "nobody", ""),
    ]
    assert "First the reader,\nthen the writer." in told(trial)[1]
    assert "No one is available" in told(trial)[2]
    output = child.logfile_read.text
    assert "\x1b[2J" not in output
    assert "\x1b]0;title" not in output


def test_the_live_view_draws_nothing_while_a_person_types(work: Path) -> None:
    child = solving(work, {"ask": "Which file?"}, "sleep 1")
    child.expect("answer>")
    child.send("The gi")
    child.expect("The gi")
    with pytest.raises(pexpect.TIMEOUT):
        child.expect("waiting|question 1 to the expert", timeout=1.5)
    child.send("ven one.\r")
    child.expect("running")
    assert ended(child) == 0
    assert answers(trial_in(work)) == [(1, 1, "given", "The given one.")]


def test_ctrl_c_at_the_question_interrupts_and_a_resumption_asks_it_again(work: Path) -> None:
    child = solving(work, {"ask": "Which file?"}, options=("--quiet",))
    child.expect("answer>")
    child.send("\x03")
    assert ended(child) == 130, child.logfile_read.text
    trial = trial_in(work)
    assert questions(trial) == [(1, "Which file?", 3)]
    assert answers(trial) == []
    assert next(event for event in events(trial) if isinstance(event, Exited)).exit.cause == "interrupted"
    child = spawn(work, "resume", str(trial), "--json")
    child.expect("question 1")
    child.expect("answer>")
    child.send("The given one.\r")
    assert ended(child) == 0, child.logfile_read.text
    assert questions(trial) == [(1, "Which file?", 3)]
    assert answers(trial) == [(1, 1, "given", "The given one.")]


def test_results_on_standard_output_stay_one_json_object(work: Path) -> None:
    command = " ".join(
        (
            f"'{AGENT[0]}' -m agent.cli.main solve --instruction 'Do the work.' --workspace start --env local",
            f"--no-evaluate --model {script(work, {'ask': 'Which file?'}, SUBMIT)} --guidance human --json >out.json",
        )
    )
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", command],
        cwd=str(work),
        env=environment(work, TERM="xterm", PROMPT_TOOLKIT_NO_CPR="1"),
        encoding="utf-8",
        timeout=20,
    )
    child.expect("answer>")
    child.send("The given one.\r")
    assert ended(child) == 0
    assert json.loads((work / "out.json").read_text())["exit"]["cause"] == "submitted"


def test_without_a_terminal_it_is_a_usage_error_before_the_start(work: Path) -> None:
    options = ("--workspace", "start", "--env", "local", "--model", "nop", "--guidance", "human")
    result = agent(work, "solve", "--instruction", "Do it now.", *options)
    assert result.status == 2
    assert "--guidance human needs a terminal" in result.err
    assert len(result.err.splitlines()) == 1
    assert not (work / "runs").exists()


def test_a_key_that_a_person_types_is_masked(work: Path) -> None:
    child = solving(work, {"ask": "What is the key?"}, SOME_API_KEY="sk-verysecret-1")
    child.expect("answer>")
    child.send("It is sk-verysecret-1, keep it.\r")
    assert ended(child) == 0
    trial = trial_in(work)
    assert "It is [secret:SOME_API_KEY], keep it." in told(trial)[0]
    assert "sk-verysecret-1" not in (trial / "events.jsonl").read_text()


def test_a_model_human_asks_with_a_line_of_its_own(work: Path) -> None:
    (work / "answers.yaml").write_text("- Read the given file.\n")
    argv = ("--instruction", "Do the work.", "--workspace", "start", "--env", "local", "--no-evaluate")
    child = spawn(work, "solve", *argv, "--model", "human", "--guidance", "file:answers.yaml")
    child.expect(r"\[1\] \$")
    child.send(":ask what's the file?\r")
    child.expect("Read the given file")
    child.expect(r"\[2\] \$")
    child.send(":submit\r")
    assert ended(child) == 0
    assert questions(trial_in(work)) == [(1, "what's the file?", 3)]
