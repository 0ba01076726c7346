"""The model `human`: a person at a real terminal (a pty), and lines from a pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pexpect
import pytest

from agent.loop.actions import SUBMIT
from agent.models.free.bash_syntax import is_complete

SESSION = """\
import json, sys
from agent.models import AssistantTurn, CallFailure, Request, make_model
from trajectories.record.events import Message
model = make_model("human", settings={}, api_base=None)
model.check(); model.warm_up()
history = [Message(id="m1", role="system", content="SYSTEM WORDS", why="system"),
           Message(id="m2", role="user", content="Build the thing.", why="task")]
for step in range(1, 20):
    try:
        reply = model.ask(Request(step, 1, history, 1.0)).reply
    except CallFailure as failure:
        print(json.dumps({"failure": failure.error}), flush=True); break
    except KeyboardInterrupt:
        print(json.dumps({"interrupted": True}), flush=True); break
    call = reply.tool_calls[0]
    command = json.loads(call.arguments)["command"]
    print(json.dumps({"command": command}), flush=True)
    history.append(AssistantTurn(f"a{step}", reply))
    history.append(Message(id=f"o{step}", role="tool", content=f"OBSERVED {step} \\x1b[31mred\\x1b]0;title\\x07",
                           why="observation", tool_call_id=call.id))
"""


@pytest.fixture
def environment(tmp_path):
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'echo edited\\necho twice\\n' > \"$1\"\n")
    editor.chmod(0o755)
    return {
        **os.environ,
        "RETRACE_CONFIG_DIR": str(tmp_path / "config"),
        "EDITOR": str(editor),
        "VISUAL": "",
        "TERM": "xterm",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }


@pytest.fixture
def person(environment, tmp_path):
    out = tmp_path / "out"
    command = f'exec "{sys.executable}" -c "$SESSION" > "{out}"'
    child = pexpect.spawn(
        "/bin/sh", ["-c", command], env={**environment, "SESSION": SESSION}, encoding="utf-8", timeout=30
    )
    child.setwinsize(40, 100)
    child.results = lambda: [json.loads(line) for line in out.read_text().splitlines()]
    yield child
    child.close(force=True)


def wait_for_end(child) -> list[dict]:
    child.expect(pexpect.EOF)
    return child.results()


def test_a_session_at_a_terminal(person, tmp_path):
    person.expect("Build the thing")
    assert "SYSTEM WORDS" not in person.before
    person.expect(r"\[1\] \$")
    person.send("echo hello\r")
    person.expect(r"OBSERVED 1 ␛\[31mred␛\]0;title␇")
    person.expect(r"\[2\] \$")
    person.send("cat <<EOF\r")
    person.expect(">")
    person.send("a 'b\r")
    person.send("EOF\r")
    person.expect(r"OBSERVED 2")
    person.expect(r"\[3\] \$")
    person.send("\x1b[200~for i in 1 2; do\necho $i\ndone\x1b[201~")
    person.send("\r")
    person.expect("OBSERVED 3")
    person.expect(r"\[4\] \$")
    person.send(":help\r")
    person.expect(":submit")
    person.expect(r"\[4\] \$")
    person.send(":edit\r")
    person.expect("OBSERVED 4")
    person.expect(r"\[5\] \$")
    person.send("\x1b[A\x1b[A\x1b[A\r")  # back in the history, past :edit and :help
    person.expect("OBSERVED 5")
    person.expect(r"\[6\] \$")
    person.send("   \r")
    person.expect(r"\[6\] \$")
    person.send(":submit\r")
    person.expect("OBSERVED 6")
    person.expect(r"\[7\] \$")
    person.send("\x04")
    assert wait_for_end(person) == [
        {"command": "echo hello"},
        {"command": "cat <<EOF\na 'b\nEOF"},
        {"command": "for i in 1 2; do\necho $i\ndone"},
        {"command": "echo edited\necho twice"},
        {"command": "for i in 1 2; do\necho $i\ndone"},
        {"command": SUBMIT},
        {"failure": "gave_up"},
    ]
    history = tmp_path / "config" / "human-history"
    assert "echo hello" in history.read_text()
    assert history.stat().st_mode & 0o077 == 0


def test_ctrl_c_interrupts(person):
    person.expect(r"\[1\] \$")
    person.send("half a comm\x03")
    assert wait_for_end(person) == [{"interrupted": True}]


def test_quit_gives_up(person):
    person.expect(r"\[1\] \$")
    person.send(":quit\r")
    assert wait_for_end(person) == [{"failure": "gave_up"}]


def test_lines_from_a_pipe(environment):
    typed = "ls\n\n: a comment\nif true; then\n  echo yes\nfi\n:edit\n:submit\n"
    result = subprocess.run(
        [sys.executable, "-c", SESSION], input=typed, capture_output=True, text=True, env=environment, timeout=60
    )
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"command": "ls"},
        {"command": ": a comment"},
        {"command": "if true; then\n  echo yes\nfi"},
        {"command": "echo edited\necho twice"},
        {"command": SUBMIT},
        {"failure": "gave_up"},
    ], result.stderr
    assert "Build the thing." in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    "script",
    [
        "echo 'a",
        'echo "a',
        "cat <<EOF\nhello",
        "cat <<'A B'\nhello\nA",
        "if true; then",
        "for i in 1 2; do\necho",
        "while read x",
        "f() {",
        "case x in\n a)",
        "(cd /",
        "echo a \\",
        "echo $(ls",
        "echo a |",
        "true &&",
    ],
)
def test_an_incomplete_command_is_recognized(script):
    assert not is_complete(script)


@pytest.mark.parametrize(
    "script",
    [
        "ls",
        "echo 'a\nb'",
        "cat <<EOF\nhello\nEOF",
        "if true; then echo; fi",
        "echo a \\\\",
        "echo )",
        "fi",
        "echo \udcff",
        "",
        "ls # comment '",
        'rm -rf "$HOME/never-run-by-the-check"; touch /tmp/x$(exit)',
    ],
)
def test_a_complete_command_is_recognized_even_if_it_is_wrong(script):
    assert is_complete(script)
