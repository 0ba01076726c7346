"""Turns, repetitions, observations and outcomes of trials made for the tests."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.analysis.trials import Did, Step, record
from tests.pace import plain_python_s
from trajectories.analysis import analyze_trial
from trajectories.analysis.aggregate import row
from trajectories.analysis.commands.loops import WINDOW
from trajectories.analysis.tokens import estimated_tokens, token_counter
from trajectories.record.usage import Usage


def test_a_turn_has_the_first_class_of_its_actions(tmp_path: Path) -> None:
    steps = [
        Step([Did("ls"), Did("git status"), Did("make")]),
        Step([Did("make"), Did("echo x > a")]),
        Step([]),
        Step([Did("ls"), Did("echo 'open")]),
    ]
    analysis = analyze_trial(record(tmp_path / "t", steps))
    assert analysis.turns.sequence == ["git", "write", None, "read"]
    assert analysis.turns.without_action == 1
    assert analysis.actions.total == 7
    assert analysis.actions.by_class == {"write": 1, "probe": 0, "git": 1, "execute": 2, "read": 2, "other": 1}
    assert analysis.actions.unparsed == 1


def test_the_reference_is_the_program_of_step_0_that_is_not_a_script(tmp_path: Path) -> None:
    """Running it is a probe until a step's snapshot shows that it was replaced; the repository's script is not one."""
    steps = [
        Step([Did("./figlet x"), Did("./manage.py x"), Did("./executable")]),
        Step([Did("bash compile.sh")], {"figlet": b"\x7fELF own"}),
        Step([Did("./figlet x")]),
    ]
    initial = {"figlet": (b"\x7fELF original", 0o111), "manage.py": (b"#!/usr/bin/python3\n", 0o755)}
    analysis = analyze_trial(record(tmp_path / "t", steps, initial=initial))
    assert analysis.turns.sequence == ["probe", "execute", "execute"]
    assert analysis.actions.by_class["probe"] == 1
    assert analysis.actions.by_class["execute"] == 4


def test_the_same_command_with_the_same_outcome_three_times_is_a_repetition(tmp_path: Path) -> None:
    make = Did("make   all", "error\n", exit_code=2)
    steps = [Step([make]), Step([make]), Step([Did("make all", "error\n", exit_code=2)]), Step([Did("ls")])]
    analysis = analyze_trial(record(tmp_path / "t", steps))
    (repetition,) = analysis.repetitions
    assert (repetition.command, repetition.times, repetition.in_a_row, repetition.exit_code) == ("make all", 3, 3, 2)
    assert (repetition.first, repetition.last) == ("1.1", "3.1")
    assert analysis.repeated_actions == 2


@pytest.mark.parametrize(
    "third", [Did("make", "other\n", 2), Did("make", "error\n", 1), Did("make x", "error\n", 2), Did("ls")]
)
def test_another_output_code_or_command_ends_a_repetition(tmp_path: Path, third: Did) -> None:
    make = Did("make", "error\n", 2)
    assert analyze_trial(record(tmp_path / "t", [Step([make, make, third])])).repetitions == []


def test_thrashing_is_recognized_within_the_window_and_not_beyond(tmp_path: Path) -> None:
    make = Did("make", "error\n", 2)

    def spaced(between: int) -> list[Step]:
        fill = [Did(f"cat file{number}", str(number)) for number in range(between)]
        return [Step([make, *fill, make, *fill, make])]

    (repetition,) = analyze_trial(record(tmp_path / "near", spaced(WINDOW - 1))).repetitions
    assert (repetition.times, repetition.in_a_row) == (3, 1)
    assert analyze_trial(record(tmp_path / "far", spaced(WINDOW))).repetitions == []


def used(prompt: int, output: int, reasoning: int | None = None) -> Usage:
    return Usage(input=prompt - 100, cache_read=100, output=output, reasoning=reasoning)


def test_tokens_of_observations_come_from_the_growth_of_the_prompts(tmp_path: Path) -> None:
    """With prompts of 1000, 1700, 1800 and 2300 the observations have 700 - 50, 100 - 20 and 500 - 30 tokens."""
    steps = [
        Step([Did("cat big", "word " * 600)], usage=used(1000, 50)),
        Step([Did("ls", "a b\n")], usage=used(1700, 20)),
        Step([Did("cat x", "word " * 300), Did("cat y", "word " * 100)], usage=used(1800, 30)),
        Step([Did("true", "end")], usage=used(2300, 5)),
    ]
    costs = analyze_trial(record(tmp_path / "t", steps)).observations
    by_action = {cost.action: (cost.tokens, cost.later_calls, cost.how) for cost in costs.largest}
    assert by_action["1.1"] == (650, 3, "usage")
    assert by_action["2.1"] == (80, 2, "usage")
    assert by_action["3.1"][0] + by_action["3.2"][0] == 470
    assert 2.5 < by_action["3.1"][0] / by_action["3.2"][0] < 3.1
    assert by_action["4.1"][1:] == (0, "tokenizer")
    assert costs.largest[0].added_tokens == 1950
    assert costs.largest[0].command == "cat big"
    assert costs.prompt_tokens == 1000 + 1700 + 1800 + 2300
    assert costs.count == 5


def test_reasoning_that_is_not_sent_back_does_not_count_as_reply(tmp_path: Path) -> None:
    steps = [Step([Did("ls", "word " * 200)], usage=used(1000, 500, 480)), Step(usage=used(1230, 5))]
    costs = analyze_trial(record(tmp_path / "t", steps)).observations
    assert costs.largest[0].tokens == 1230 - 1000 - 20


def test_without_usage_the_tokenizer_counts(tmp_path: Path) -> None:
    costs = analyze_trial(record(tmp_path / "t", [Step([Did("ls", "word " * 200)]), Step()])).observations
    count, how = token_counter()
    assert how == "tokenizer"
    assert costs.largest[0].tokens == count("<returncode>0</returncode>\n" + "word " * 200)
    assert costs.how == {"tokenizer": 1}
    assert costs.prompt_tokens is None
    assert estimated_tokens("12345") == 2


def test_the_ten_most_expensive_observations_are_listed(tmp_path: Path) -> None:
    steps = [Step([Did(f"cat {number}", "word " * (number + 1))]) for number in range(11)]
    costs = analyze_trial(record(tmp_path / "t", [*steps, Step()])).observations
    assert costs.count == 11
    assert len(costs.largest) == 10
    assert "cat 10" not in [cost.command for cost in costs.largest]  # no later prompt but one


def test_outcomes(tmp_path: Path) -> None:
    steps = [
        Step([Did("make", exit_code=2, duration_s=2), Did("make x", exit_code=1, duration_s=3), Did("ls")]),
        Step([Did("sleep 999; make", exit_code=None, ended="deadline", duration_s=180)]),
        Step([Did("make y", exit_code=137, ended="oom"), Did("yes | make", exit_code=None, ended="output_cap")]),
        Step([Did("cat a")]),
    ]
    outcomes = analyze_trial(record(tmp_path / "t", steps)).outcomes
    assert (outcomes.finished, outcomes.known_exit_codes, outcomes.non_zero) == (7, 5, 3)
    assert outcomes.non_zero_share == 0.6
    assert outcomes.ended == {"exited": 4, "deadline": 1, "oom": 1, "output_cap": 1}
    assert (outcomes.longest_failing_run, outcomes.recoveries) == (3, 2)
    assert outcomes.seconds == {"execute": 187.0, "read": 2.0}


def test_an_unknown_duration_is_not_0(tmp_path: Path) -> None:
    """The duration of an action that never ended is unknown; a class without actions took 0 s."""
    trial = record(tmp_path / "t", [Step([Did("ls", duration_s=2)]), Step([Did("make")])], closed=False)
    events = trial / "events.jsonl"
    lines = events.read_bytes().splitlines(keepends=True)
    events.write_bytes(b"".join(line for line in lines if b'"action_finished"' not in line or b'"1.1"' in line))
    figures = row(analyze_trial(trial))
    assert (figures["seconds_read"], figures["seconds_execute"], figures["seconds_git"]) == (2.0, None, 0.0)


def test_a_thousand_steps_need_little_work(tmp_path: Path) -> None:
    body = [f"def f{number}(a):\n    return a + {number}" for number in range(500)]
    steps = []
    for number in range(1000):
        body[number % 500] += f"  # {number}"
        files = {"src/main.py": "\n".join(body)} if number % 4 == 0 else {}
        script = f"cd src && grep -n 'f{number}' main.py | head -{number}; ./run --x \"$HOME\" > /tmp/o 2>&1"
        steps.append(Step([Did(script, f"line {number}\n" * 100)], files))
    trial = record(tmp_path / "t", steps)
    token_counter()  # reads the tokenizer's vocabulary, once in each process
    began = time.process_time()
    analysis = analyze_trial(trial)
    assert time.process_time() - began < 40 * plain_python_s()
    assert analysis.growth is not None
    assert analysis.growth.final_lines == 1000
