"""Commands that may not reproduce are recognized by their text, and commands that only look similar are not."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from tests.record.cpu_time import check_linear
from trajectories.comparison.repeatability import CAUSES, RepeatabilityReport, causes, findings
from trajectories.comparison.shell_text import shell_text
from trajectories.record.events import ActionFinished, ActionStarted, Output

LIKELY = [
    ("date", "clock"),
    ("cd x && ls -la", "clock"),
    ("echo $(date +%s)", "clock"),
    ('echo "$(date)"', "clock"),
    ("echo $SECONDS", "clock"),
    ("python3 - <<'EOF'\nimport time\nprint(time.time())\nEOF", "clock"),
    ("stat f", "clock"),
    ("time make", "clock"),
    ('echo "$RANDOM"', "randomness"),
    ("d=$(mktemp -d)", "randomness"),
    ("head -c 9 /dev/urandom", "randomness"),
    ("python3 -c 'import random; print(random.random())'", "randomness"),
    ("pip install -q x", "network"),
    ("apt-get -y update", "network"),
    ("bash -c 'curl http://x'", "network"),
    ("bash <<'EOF'\nwget x\nEOF", "network"),
    ("git clone x", "network"),
    ("echo $$", "process ids"),
    ("ps aux | grep x", "process ids"),
    ("kill $!", "process ids"),
    ("find . -name x", "directory order"),
    ("grep -rn x . | head", "directory order"),
    ("python3 -c 'import os; print(os.listdir())'", "directory order"),
    ("sleep 9 &", "background processes"),
    ("server & sleep 1", "background processes"),
    ("nohup server", "background processes"),
    ("make -j4", "background processes"),
]
NOT = [
    "echo update the date",
    "cat >a.py <<'EOF'\ntime = fields.DateTime()\ncm = Linear1D(10) & Linear1D(5)\nfind the date\nEOF",
    "grep 'find . & date' file",
    "# date; find .",
    "echo hello  # & date",
    "make 2>&1 | tail && echo done",
    "cmd &>log",
    "find . | sort",
    "find . -name x | wc -l",
    "find . -name x -delete",
    "sed -i 's/a&b/c/' f",
    "time=5; echo $time",
    "python3 -c 'print(sorted(os.listdir()))'",
    "git commit -m 'date & time; ps'",
    "echo at random.",
    "echo a\\&b",
    "./date-parser x",
    "python3 -c 'import random; random.seed(7); print(random.random())'",
]


@pytest.mark.parametrize(("script", "cause"), LIKELY)
def test_a_cause_is_recognized(script: str, cause: str) -> None:
    assert cause in [name for name, _ in causes(script)]


@pytest.mark.parametrize("script", NOT)
def test_similar_text_shows_no_cause(script: str) -> None:
    assert causes(script) == []


def test_a_finding_has_its_action_and_its_line() -> None:
    script = "echo a\necho b; date +%s"
    events = [ActionStarted(action="3.2", step=3, script=script, deadline_s=1)] * 2
    (finding,) = findings(events)
    assert (finding.action, finding.cause, finding.text) == ("3.2", "clock", "echo b; date +%s")


@given(st.text(alphabet="ab \n'\"\\#<EOF&;|$()`", max_size=60))
def test_any_text_can_be_examined(script: str) -> None:
    assert len(shell_text(script)) == len(script)
    causes(script)


@pytest.mark.parametrize(
    "piece", ["find ", "grep -r x ", "ls -a ", "'", "<<A ", "a\n", "git log ", "; date-", "$(", "tar c "]
)
def test_a_long_script_is_examined_in_linear_time(piece: str) -> None:
    check_linear(lambda size: causes(piece * (size // len(piece))), 25_000)


def test_real_runs_show_the_causes_that_people_would_name(shared_data: Path) -> None:
    counts: Counter[str] = Counter()
    commands = 0
    for path in sorted((shared_data / "mini-swe-agent").glob("v2*/**/*.json")):
        for message in json.loads(path.read_text()).get("messages", []):
            for action in (message.get("extra") or {}).get("actions") or []:
                commands += 1
                counts.update(name for name, _ in causes(action["command"]))
    assert commands == 1496
    assert set(counts) <= set(CAUSES)
    assert counts["background processes"] == 0  # `&` is only in Python code and in texts there
    assert 40 <= counts["network"] <= 60
    assert 100 <= counts["directory order"] <= 260


BEGAN = "2026-05-28T20:26:40Z"


def predicted(command: str, printed: str) -> list[str]:
    """Return the causes for which this command of a trial that just began is predicted to differ."""
    output = Output(bytes=len(printed), kept=len(printed), sha256="", text=printed)
    events = [
        ActionStarted(t=BEGAN, action="1.1", step=1, script=command, deadline_s=1),
        ActionFinished(
            t=BEGAN, action="1.1", step=1, tool_call_id=None, ended="exited", exit_code=0, signal=None,
            duration_s=1, streams="merged", output=output, stderr=None,
        ),
    ]  # fmt: skip
    return [finding.cause for finding in findings(events) if finding.predicted]


@pytest.mark.parametrize(
    ("command", "printed", "cause"),
    [
        ("python t.py", "2026-05-28 20:26:41,123 DEBUG x\n", "clock"),
        ("ls -la", "drwxr-xr-x 1 root root 4096 May 28 20:26 ..\n", "clock"),
        ("python -m pytest", "==== 3 passed in 0.12s ====\n", "clock"),
        ("git commit -m x", "[main 1a2b3c4] x\n", "clock"),
        ("date +%N", "123456789\n", "clock"),
        ("date +%N >stamp", "", "clock"),
        ("echo $RANDOM", "17\n", "randomness"),
        ("./make.sh", "wrote /tmp/tmp.a1B2c3D4e5\n", "randomness"),
        ("sleep 9 & echo $!", "pid 42\n", "process ids"),
        ("python t.py", "<Foo object at 0x7f0e1c2d3e50>\n", "addresses"),
        ("python t.py", "{'a', 'b'}\n", "hash order"),
        ("grep -rn x .", "./a.py:1:x\n./b.py:2:x\n", "directory order"),
        ("find . -name '*.py' | head", "./a.py\n./b.py\n", "directory order"),
        ("pip install x", "Collecting x\n", "network"),
    ],
)
def test_a_trace_in_the_output_is_a_prediction(command: str, printed: str, cause: str) -> None:
    assert predicted(command, printed) == [cause]


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("ls -la", "-rw-r--r-- 1 root root 12 Nov 22  2024 setup.py\n"),
        ("git log", "commit 1a\nDate:   Fri Jan 5 10:00:00 2024 +0000\n"),
        ("find . -name setup.py", "./setup.py\n"),
        ("grep -rn x .", ""),
        ("grep -r x src", "src/a.py:x\nsrc/a.py:y\n"),
        ("cat a.py", "KINDS = {'a', 'b'}\n"),
        ("python t.py", "{'a': 1, 'b': 2}\n"),
        ("python t.py", "took 3 seconds\n"),
        ("make -j4", "done\n"),
        ("sleep 1 &", ""),
        ("date >/dev/null", ""),
        ("pip install -q x", ""),
    ],
)
def test_without_a_trace_in_the_output_nothing_is_predicted(command: str, printed: str) -> None:
    assert predicted(command, printed) == []


def test_a_command_that_may_need_the_network_is_named_without_a_prediction() -> None:
    output = Output(bytes=0, kept=0, sha256="", text="")
    events = [
        ActionStarted(action="1.1", step=1, script="pip install -q x", deadline_s=1),
        ActionFinished(
            action="1.1", step=1, tool_call_id=None, ended="exited", exit_code=0, signal=None,
            duration_s=1, streams="merged", output=output, stderr=None,
        ),
    ]  # fmt: skip
    assert [(finding.cause, finding.predicted) for finding in findings(events)] == [("network", False)]
    line = RepeatabilityReport(Path("t"), 1, findings(events)).line
    assert line == "0 of 1 commands will probably differ in a replay, 1 more possibly"


@pytest.mark.parametrize("piece", ["{'a', ", "./a:", "[main ", "Collecting ", "12:30:01 ", "x\n"])
def test_a_long_output_is_examined_in_linear_time(piece: str) -> None:
    check_linear(lambda size: predicted("find .", piece * (size // len(piece))), 25_000)
