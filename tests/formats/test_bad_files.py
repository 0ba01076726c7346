"""Broken and hostile files: they give one clear error with the place, or are read as documented; never a traceback."""

from __future__ import annotations

import copy
import json
import os
import tempfile
import tracemalloc
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.formats.corpus import DATA, FILES, with_known_end
from tests.formats.mutation import mutated
from tests.formats.test_export import minimal
from tests.formats.test_export_native import write_trial
from tests.record.cpu_time import check_linear
from tests.solve.command import agent
from trajectories.formats.errors import BadDocument
from trajectories.formats.export import FORMATS, export
from trajectories.formats.mini.observations import from_text
from trajectories.formats.trial import import_file
from trajectories.reading.reader import read_events
from trajectories.record.events import (
    ActionFinished,
    ActionStarted,
    CallFinished,
    Event,
    Message,
    Parent,
    TrialStarted,
    Warned,
)
from trajectories.record.exits import Exit


def rejection(tmp_path: Path, data: bytes) -> str:
    """Return the error message without the file's name at its beginning."""
    file = tmp_path / "bad.traj.json"
    file.write_bytes(data)
    with pytest.raises(BadDocument) as caught:
        import_file(file, tmp_path / "runs" / "batch")
    assert not list((tmp_path / "runs").rglob("*"))
    text = str(caught.value)
    assert text.startswith(f"{file}: ")
    return text.removeprefix(f"{file}: ")


def imported_events(tmp_path: Path, value: Any) -> list[Event]:
    """Import a document, export it in every format, and return the events."""
    file = tmp_path / "odd.traj.json"
    file.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())
    made = import_file(file, tmp_path / "runs" / "batch")
    for format in FORMATS:
        assert export(made.directory, format)
    return list(read_events(made.directory))


def changed(path: str, new: Any) -> dict[str, Any]:
    """Return the smallest run with another value at `path`, for instance `messages.3.extra.returncode`."""
    value = copy.deepcopy(minimal())
    *above, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    target: Any = value
    for key in above:
        target = target[key]
    target[last] = new
    return value


def notes(events: list[Event]) -> str:
    return "; ".join(event.text for event in events if isinstance(event, Warned))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "the file is empty"),
        (b" \n\n", "only white space"),
        (b"not json at all", "line 1, column 1: not JSON"),
        (b'{"messages": [\n {"role": "user", ', "line 2, column 19: not JSON: "),
        (b'{"info": {"a": NaN}, "messages": []}', "line 1, column 16: NaN is not a number in JSON"),
        (b'{"a": "NaN",\n "b": -Infinity}', "line 2, column 7: -Infinity is not a number in JSON"),
        (b'{"info": {"a": 1e999}, "messages": []}', "inf, which is not a number in JSON"),
        (b'{"info": {"a": ' + b"9" * 5000 + b"}}", "not JSON: Exceeds the limit"),
        (b"[" * 100_000, "nested deeper than 100 levels"),
        (b"[" * 150 + b"]" * 150, "nested deeper than 100 levels"),
        (b"\xff\xfe{}", "byte 0: not UTF-8"),
        (b'{"a": "\xe9"}', "byte 7: not UTF-8"),
        (b'{"a": 1}\0', "line 1, column 9: not JSON: Extra data"),
        (b"\x1f\x8b\x08\x00", "byte 1: not UTF-8"),
        (b"42", "not a trajectory"),
        (b'"text"', "not a trajectory"),
        (b"[]", "a list that is not a conversation"),
        (b"[1, 2]", "a list that is not a conversation"),
        (b"{}", "not a trajectory"),
        (b'{"schema_version": "ATIF-v1.8"}', "agent.name: an agent without a name"),
        (b'[{"id": 0, "source": "agent", "action": "run"}]', "a list of events of OpenHands"),
        (b'[{"conversations": []}]', "an export of conversations"),
        (b'{"trajectory": [], "history": []}', "a trajectory of SWE-agent"),
        (b'{"version": 2, "width": 80, "height": 24}', "an asciicast"),
        (b'{"messages": [], "info": {}}', "messages: the conversation is empty"),
        (b'{"messages": [{"role": "user"}]}', "a conversation without the `info`"),
    ],
)
def test_a_file_that_is_not_a_trajectory_is_rejected_with_the_place(tmp_path: Path, data: bytes, words: str) -> None:
    assert words in rejection(tmp_path, data)


@pytest.mark.parametrize(
    ("path", "new", "words"),
    [
        ("trajectory_format", "mini-swe-agent-9", "trajectory_format: unknown version 'mini-swe-agent-9'"),
        ("trajectory_format", 7, "trajectory_format: unknown version 7"),
        ("messages.1", "text", "messages[1]: not an object"),
        ("messages.1", None, "messages[1]: not an object"),
        ("messages.1.role", "robot", "messages[1]: unknown role or type 'robot'"),
        ("messages.1.content", 5, "messages[1].content: a number instead of a text"),
        ("messages.2.extra", [], "messages[2].extra: a list instead of an object"),
        ("messages.2.tool_calls", {"id": 1}, "messages[2].tool_calls: not a list of objects"),
        ("messages.2.extra.actions", "ls", "messages[2].extra.actions: not a list of objects"),
        ("messages.2.extra.actions.0.command", None, "messages[2].extra.actions[0]: an action without a command"),
        ("messages.3.extra.returncode", "0", "messages[3].extra.returncode: '0' is not a return code"),
        ("messages.3.extra.returncode", 10**900, "messages[3].extra.returncode: "),
        ("messages.3.extra.returncode", True, "messages[3].extra.returncode: 'True' is not a return code"),
        ("messages.3.extra.returncode", 0.5, "messages[3].extra.returncode: '0.5' is not a return code"),
        ("messages.3.extra.retrace", {"ended": "never"}, "messages[3].extra.retrace: "),
        ("messages.2.extra.retrace", {"usage": {"input": -1}}, "messages[2].extra.retrace: "),
        ("info.retrace", {"exit": {"reason": "agent", "cause": "steps"}}, "info.retrace.exit: "),
        ("info.model_stats", [1], "info.model_stats: a list instead of an object"),
        ("info.config", "x", "info.config: a text instead of an object"),
    ],
)
def test_a_field_of_the_wrong_kind_is_rejected_with_its_place(tmp_path: Path, path: str, new: Any, words: str) -> None:
    assert words in rejection(tmp_path, json.dumps(changed(path, new)).encode())


def test_a_gigabyte_is_rejected_by_its_size(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 30)
    tracemalloc.start()
    with pytest.raises(BadDocument, match="1073741824 bytes; at most 64 MiB can be read"):
        import_file(file, tmp_path / "batch")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20, "it was read"


def test_a_file_of_the_largest_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    with file.open("wb") as sparse:
        sparse.truncate(64 << 20)
    with pytest.raises(BadDocument, match="line 1, column 1: not JSON"):
        import_file(file, tmp_path / "batch")


def test_a_file_that_is_not_regular_is_rejected_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("pipe", "is not a regular file"),
        (".", "is a directory"),
        ("absent", "No such file"),
        ("x" * 300, "File name too long"),
    ):
        with pytest.raises(BadDocument, match=words):
            import_file(tmp_path / name, tmp_path / "batch")


def test_a_real_file_cut_anywhere_is_rejected(tmp_path: Path) -> None:
    if not FILES:
        pytest.skip(f"the real files are not beside this checkout ({DATA})")
    data = (DATA / "v1" / "rfc-mini-1.13.4.traj.json").read_bytes()
    for length in range(1, len(data), len(data) // 60):
        assert "not JSON" in rejection(tmp_path, data[:length])


# irregular files that can be read


def test_a_byte_order_mark_is_ignored(tmp_path: Path) -> None:
    assert imported_events(tmp_path, b"\xef\xbb\xbf" + json.dumps(minimal()).encode())


def test_lone_surrogates_and_nul_are_text(tmp_path: Path) -> None:
    events = imported_events(tmp_path, minimal(output="a\ud800b\0c\n"))
    (result,) = [event for event in events if isinstance(event, ActionFinished)]
    assert result.output.text == "a\ufffdb\0c\n"
    names = imported_events(tmp_path, minimal(instance_id="a\udfffb"))[0]
    assert isinstance(names, TrialStarted)
    assert names.task.id == "a\ufffdb"
    imported_events(tmp_path, changed("messages.2.extra.actions.0.command", "echo \ud800"))
    imported_events(tmp_path, changed("messages.2.extra.response", {"model": "\ud800", "usage": {"prompt_tokens": 1}}))
    imported_events(tmp_path, changed("info.mini_version", "\ud800"))
    imported_events(tmp_path, changed("info.exit_status", "\ud800"))


@pytest.mark.parametrize("name", ["../../x", "/etc/passwd", "..", "a\nb", "\x1b[2J", "x" * 5000, "\0", "-rf", ".", ""])
def test_no_name_in_a_file_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    value = minimal(instance_id=name)
    value["info"]["config"] = {"model": {"model_name": name}}
    value["messages"][2]["tool_calls"][0]["id"] = value["messages"][2]["extra"]["actions"][0]["tool_call_id"] = name
    value["messages"][3]["tool_call_id"] = name
    imported_events(tmp_path, value)
    assert {path.name for path in tmp_path.iterdir()} == {"odd.traj.json", "runs"}
    (batch,) = (tmp_path / "runs").iterdir()
    made = [path for path in batch.iterdir() if path.name != ".pool"]
    assert len(made) == 1
    assert set(made[0].name) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-")


@pytest.mark.parametrize("figure", [-1, -0.5, True, "5", [], 1e300, 10**900])
def test_impossible_figures_count_as_unknown_with_a_note(tmp_path: Path, figure: Any) -> None:
    events = imported_events(tmp_path, changed("messages.2.extra.cost", figure))
    call = next(event for event in events if isinstance(event, CallFinished))
    assert call.costs.billed is None
    assert "messages[2].extra.cost" in notes(events)
    events = imported_events(tmp_path, changed("messages.2.extra.timestamp", figure))
    assert next(event for event in events if isinstance(event, CallFinished)).t == ""
    assert "messages[2].extra.timestamp" in notes(events)


def test_a_time_after_the_year_9999_counts_as_unknown(tmp_path: Path) -> None:
    events = imported_events(tmp_path, changed("messages.2.extra.timestamp", 253_402_300_800))
    assert next(event for event in events if isinstance(event, CallFinished)).t == ""


@pytest.mark.parametrize(("total", "differs"), [(0.25, False), (0.2501, True)])
def test_a_total_that_is_not_the_sum_of_the_costs_is_noted(tmp_path: Path, total: float, differs: bool) -> None:
    value = changed("messages.2.extra.cost", 0.25)
    value["info"]["model_stats"]["instance_cost"] = total
    assert ("is not the sum" in notes(imported_events(tmp_path, value))) == differs


def test_negative_tokens_count_as_unknown_with_a_note(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": -5}
    events = imported_events(tmp_path, changed("messages.2.extra.response", {"usage": usage}))
    call = next(event for event in events if isinstance(event, CallFinished))
    assert call.usage_raw == usage
    assert call.usage is not None
    assert (call.usage.input, call.usage.output) == (10, None)
    assert "negative count of tokens" in notes(events)


def test_times_that_go_back_are_clamped_and_counted(tmp_path: Path) -> None:
    events = imported_events(tmp_path, changed("messages.3.extra.timestamp", 900.0))
    monotonic = [event.mono_s for event in events]
    assert monotonic == sorted(monotonic)
    assert "go back" in notes(events)
    assert next(event for event in events if isinstance(event, ActionFinished)).t == "1970-01-01T00:15:00.000000Z"


def test_a_file_whose_trial_would_be_inconsistent_is_rejected(tmp_path: Path) -> None:
    """A second answer to a tool call, and a command of a tool call that the reply does not hold."""
    value = minimal()
    turn, answer = value["messages"][2:]
    turn["tool_calls"] *= 2
    turn["extra"]["actions"] = [
        {"command": "one", "tool_call_id": "a/../b"},
        {"command": "two", "tool_call_id": "a/../b"},
    ]
    second = copy.deepcopy(answer)
    second["extra"]["returncode"] = 7
    value["messages"] += [second, copy.deepcopy(second)]
    words = "not imported, because its trial would be inconsistent: "
    assert f"{words}the tool call 'a/../b' is answered twice" in rejection(tmp_path, json.dumps(value).encode())
    value = changed("messages.2.extra.actions.0.tool_call_id", "other")
    assert f"{words}action 1.1 answers the tool call 'other'" in rejection(tmp_path, json.dumps(value).encode())


def test_the_commands_of_a_turn_without_observations_started(tmp_path: Path) -> None:
    """The batch agent loses all observations of a turn in which one command submits."""
    value = minimal()
    del value["messages"][3]
    value["messages"][2]["extra"]["actions"] *= 2
    events = imported_events(tmp_path, value)
    assert [event.action for event in events if isinstance(event, ActionStarted)] == ["1.1", "1.2"]
    ends = [event for event in events if isinstance(event, ActionFinished)]
    assert [(end.ended, end.exit_code, end.output.complete) for end in ends] == [("unknown", None, False)] * 2


def test_a_submission_that_the_interactive_agent_marks_as_not_executed_started(tmp_path: Path) -> None:
    value = minimal()
    value["messages"][3]["extra"] |= {"returncode": -1, "exception_info": "action was not executed"}
    events = imported_events(tmp_path, value)
    assert [event.action for event in events if isinstance(event, ActionStarted)] == ["1.1"]
    (end,) = [event for event in events if isinstance(event, ActionFinished)]
    assert (end.ended, end.exit_code, end.output.complete) == ("unknown", None, False)


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        ({"returncode": -1, "exception_info": "Command timed out after 60 seconds"}, ("deadline", None, None)),
        ({"returncode": -1, "exception_info": "no such container"}, ("unknown", None, None)),
        ({"returncode": -1, "exception_info": ""}, ("unknown", None, None)),
        ({"returncode": None, "exception_info": ""}, ("unknown", None, None)),
        ({"returncode": -9, "exception_info": ""}, ("exited", None, 9)),
        ({"returncode": 137, "exception_info": ""}, ("exited", 137, None)),
    ],
)
def test_special_return_codes(tmp_path: Path, extra: dict[str, Any], expected: tuple[Any, ...]) -> None:
    value = minimal()
    value["messages"][3]["extra"] |= extra
    (result,) = [event for event in imported_events(tmp_path, value) if isinstance(event, ActionFinished)]
    assert (result.ended, result.exit_code, result.signal) == expected


def test_a_format_error_that_keeps_its_reply_is_a_priced_step(tmp_path: Path) -> None:
    """mini-swe-agent 2.4.6 puts `extra.response` and `extra.cost` into the message about the error."""
    value = minimal()
    value["messages"].append(
        {
            "role": "user",
            "content": "No tool calls found",
            "extra": {
                "interrupt_type": "FormatError",
                "cost": 0.25,
                "response": {
                    "model": "m",
                    "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "hm"}}],
                    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
                },
            },
        }
    )
    second = [event for event in imported_events(tmp_path, value) if isinstance(event, CallFinished)][1]
    assert (second.reply.text, second.costs.billed, second.model_served) == ("hm", 0.25, "m")
    assert second.usage is not None
    assert (second.usage.input, second.usage.output) == (7, 3)


def test_limits_and_other_exits(tmp_path: Path) -> None:
    for status, config, expected in (
        ("LimitsExceeded", {"step_limit": 1, "cost_limit": 3}, ("limit", "steps")),
        ("LimitsExceeded", {"step_limit": 0, "cost_limit": 0.5}, ("limit", "cost")),
        ("LimitsExceeded", {"step_limit": 1, "cost_limit": 0.5}, ("limit", "steps")),  # both were reached
        ("LimitsExceeded", {"step_limit": 2, "cost_limit": 0.5}, ("limit", "cost")),
        ("TimeExceeded", {}, ("limit", "time")),
        ("RepeatedFormatError", {}, ("agent", "format_errors")),
        ("RateLimitError", {}, ("infrastructure", "model_unavailable")),
        ("ZeroDivisionError", {}, ("infrastructure", "harness_defect")),
    ):
        value = minimal()
        value["info"] |= {"exit_status": status, "config": {"agent": config}}
        value["info"]["model_stats"] = {"api_calls": 1, "instance_cost": 0.5}
        file = tmp_path / "exit.json"
        file.write_text(json.dumps(value))
        exit = import_file(file, tmp_path / "batch").summary.exit
        assert exit is not None
        assert (exit.reason, exit.cause, exit.detail) == (*expected, status)


def test_the_step_limit_is_imported_and_0_is_none(tmp_path: Path) -> None:
    for step_limit, expected in ((0, None), (1, 1)):
        start = imported_events(tmp_path, changed("info.config", {"agent": {"step_limit": step_limit}}))[0]
        assert isinstance(start, TrialStarted)
        assert start.limits.steps == expected


@pytest.mark.parametrize(("code", "ended"), [(2**32 - 1, "exited"), (2**32, "unknown")])
def test_an_impossible_return_code_of_the_oldest_layout_is_ignored(tmp_path: Path, code: int, ended: str) -> None:
    observation = {"args": ["ls"], "returncode": code, "stdout": "a", "stderr": ""}
    value = minimal()
    value["messages"][2:] = [
        {"role": "assistant", "content": "```bash\nls\n```", "timestamp": 1.0},
        {"role": "user", "content": f"Observation: {observation}"},
        {"role": "assistant", "content": "```bash\npwd\n```"},
    ]
    first = next(event for event in imported_events(tmp_path, value) if isinstance(event, ActionFinished))
    assert first.ended == ended


STREAMS = "<returncode>{i}{code}{e}</returncode>{n}<stderr>{i}{err}{e}</stderr>{n}<stdout>{i}{out}{e}</stdout>"


@pytest.mark.parametrize("indent", [None, "", "    "])
@pytest.mark.parametrize(
    ("code", "out", "err"),
    [(0, "hello\n", ""), (1, "", "cat: x: No such file\n"), (2, "  a\n</stdout> b\n\n", "no line feed"), (-9, "", "")],
)
def test_the_layout_with_two_streams_in_tags(tmp_path: Path, indent: str | None, code: int, out: str, err: str) -> None:
    """The template of the first versions: each value on lines of its own, between tags that may be indented."""
    around = {"i": "", "e": "", "n": ""}
    if indent is not None:
        around = {"i": f"\n{indent}", "e": f"\n{indent[4:]}", "n": f"\n{indent[4:]}"}
    shown = STREAMS.format(code=code, out=out, err=err, **around)
    value = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "```bash\nls\n```", "timestamp": 1000.0},
        {"role": "user", "content": shown},
        {"role": "assistant", "content": "```bash\npwd\n```"},
        {"role": "user", "content": "something unreadable"},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "Command not executed. The user rejected your command: no"},
        {"role": "assistant", "content": "```bash\nid\n```"},
    ]
    events = imported_events(tmp_path, value)
    first, second, third = (event for event in events if isinstance(event, ActionFinished))
    assert (first.exit_code, first.signal) == ((code, None) if code >= 0 else (None, -code))
    assert (first.streams, first.output.text, first.stderr and first.stderr.text) == ("separate", out, err)
    for end, action in ((second, "2.1"), (third, "4.1")):
        assert (end.action, end.ended, end.output.complete) == (action, "unknown", False)
    whys = [event.why for event in events if isinstance(event, Message)]
    assert whys == ["system", "task", "observation", "observation", "not_executed"]


def test_text_mode_and_human_commands(tmp_path: Path) -> None:
    """2.x text mode: observations are user messages with `extra`, a person's commands user messages with actions."""
    value = minimal()
    value["messages"][2:] = [
        {"role": "assistant", "content": "```mswea_bash_command\nls\n```", "extra": {"actions": [{"command": "ls"}]}},
        {"role": "user", "content": "shown", "extra": {"returncode": 2, "raw_output": "raw", "timestamp": 5.5}},
        {"role": "user", "content": "let me", "extra": {"actions": [{"command": "pwd"}]}},
        {"role": "user", "content": "shown too", "extra": {"returncode": 0, "raw_output": "/"}},
    ]
    results = [event for event in imported_events(tmp_path, value) if isinstance(event, ActionFinished)]
    assert [(event.action, event.exit_code, event.output.text) for event in results] == [
        ("1.1", 2, "raw"),
        ("1.2", 0, "/"),
    ]


def test_a_timeout_in_the_text_layouts(tmp_path: Path) -> None:
    value = minimal()
    value["info"]["exit_status"] = "Submitted"
    value["messages"][2:] = [
        {"role": "assistant", "content": "```bash\nsleep 99\n```", "extra": {}, "timestamp": 1000.0},
        {
            "role": "user",
            "content": "The last command <command>sleep 99</command> timed out and has been killed.\n"
            "The output of the command was:\n <output>\npartial\n</output>\nPlease try another command",
            "timestamp": 1030.0,
        },
        {"role": "assistant", "content": "```bash\necho COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT\n```"},
        {"role": "user", "content": "the patch"},
    ]
    events = imported_events(tmp_path, value)
    (late,) = with_known_end(events)
    assert (late.ended, late.exit_code, late.output.text, late.mono_s) == ("deadline", None, "partial\n", 30.0)


def test_format_errors_and_limits_before_2(tmp_path: Path) -> None:
    """In 1.x the message after a reply with two blocks reports the error; the last message gives the reason."""
    value = minimal(trajectory_format="mini-swe-agent-1")
    value["messages"][2:] = [
        {"role": "assistant", "content": "```bash\nls\n```\n```bash\npwd\n```", "timestamp": 1.0},
        {"role": "user", "content": "exactly ONE action, found 2"},
        {"role": "assistant", "content": "```bash\nls\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\n</output>"},
        {"role": "user", "content": "a person says something"},
        {"role": "assistant", "content": "no block"},
        {"role": "user", "content": "LimitsExceeded"},
    ]
    events = imported_events(tmp_path, value)
    assert [event.why for event in events if isinstance(event, Message)] == [
        *("system", "task", "format_error", "observation", "notice"),
    ]
    head = events[0]
    assert isinstance(head, TrialStarted)
    assert head.imported is not None
    assert (head.imported.submission, head.imported.exit_status) == (None, "LimitsExceeded")
    assert [event.action for event in events if isinstance(event, ActionFinished)] == ["2.1"]


# the command


def test_one_bad_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(minimal()))
    (tmp_path / "b\x1b[31mad.json").write_text("{")
    (tmp_path / "other.json").write_text(json.dumps(minimal(instance_id="other")))
    run = agent(tmp_path, "import", "good.json", "b\x1b[31mad.json", "absent.json", "other.json", "--json")
    assert run.status == 2
    assert [trial["file"] for trial in run.json["trials"]] == ["good.json", "other.json"]
    assert [failure["file"] for failure in run.json["failed"]] == ["b\x1b[31mad.json", "absent.json"]
    assert "\x1b" not in run.err
    assert "absent.json" in run.err
    assert "Traceback" not in run.err
    again = agent(tmp_path, "import", "good.json")
    assert (again.status, "exists already" in again.out) == (0, True)


def test_showing_an_imported_trial(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(minimal(output="\x1b]0;evil\x07\n", instance_id="\x1b[2Jx")))
    made = agent(tmp_path, "import", "good.json", "--json").json["trials"][0]
    for arguments in (("trials",), ("show", made["trial"]), ("show", made["trial"], "--step", "1")):
        run = agent(tmp_path, *arguments)
        assert run.status == 0, run.err
        assert "\x1b" not in run.out
    shown = agent(tmp_path, "show", made["trial"], "--json").json
    assert (shown.pop("forks"), shown.pop("replays")) == ([], [])
    assert shown == {key: value for key, value in made.items() if key not in ("file", "already")}
    assert agent(tmp_path, "trials", "--json").json["trials"] == [shown]


def test_the_export_command(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(minimal()))
    trial = agent(tmp_path, "import", "good.json", "--json").json["trials"][0]["trial"]
    assert agent(tmp_path, "export", trial, "--format", "mini").out == (tmp_path / "good.json").read_text()
    run = agent(tmp_path, "export", trial, "--format", "atif", "--output", "out.json", "--json")
    assert run.json["bytes"] == (tmp_path / "out.json").stat().st_size
    assert json.loads((tmp_path / "out.json").read_text())["schema_version"] == "ATIF-v1.8"
    for arguments, words in (
        (("--format", "html"), "html"),
        (("--format", "mini", "--json"), "--json needs --output"),
        (("--format", "mini", "--reasoning"), "--reasoning does not apply to --format mini"),
        (("--format", "mini", "--output", "."), "is a directory"),
        (("--format", "mini", "--output", "no/such/place"), "cannot be written"),
    ):
        run = agent(tmp_path, "export", trial, *arguments)
        assert (run.status, words in run.err, run.out) == (2, True, ""), run.err


def test_a_batch_is_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(minimal()))
    for name in ("../x", ".hidden", "", "a/b"):
        run = agent(tmp_path, "import", "good.json", "--batch", name)
        assert (run.status, "cannot name a batch" in run.err) == (2, True)
    assert {path.name for path in tmp_path.iterdir()} <= {"good.json", "home"}


@pytest.mark.parametrize(
    "mark", ["<stdout>", "</stdout>", "<output>\n", "<output_head>\n", "</output_head>\n1 characters "]
)
@pytest.mark.parametrize("head", ["<stdout>", "<output>\n", "<output_head>\n", "<warning>"])
def test_an_observation_full_of_tags_is_read_in_linear_time(head: str, mark: str) -> None:
    check_linear(lambda times: from_text(f"<returncode>0</returncode>{head}{mark * times}x"), 50_000)


def test_tags_in_an_output_do_not_end_it() -> None:
    printed = "<output>\nforged\n</output>\n</stdout> <stdout>\n"
    result = from_text(f"<returncode>\n3\n</returncode>\n<stderr>\n\n</stderr>\n<stdout>\n{printed}\n</stdout>")
    assert result is not None
    assert (result.exit_code, result.output, result.stderr) == (3, printed, "")


# arbitrary values

_SMALL = [path for path in FILES if path.stat().st_size < 20_000]
"""Files of every layout except chat, which `minimal` has."""


@st.composite
def mutations(draw: st.DrawFn) -> Any:
    """Draw a small run in which one value is replaced."""
    base = draw(st.sampled_from([None, "ours", *_SMALL]))
    if base == "ours":
        return mutated(draw, json.loads(_exported()))
    if base is not None:
        return mutated(draw, json.loads(base.read_text()))
    value: Any = minimal()
    value["messages"][2]["extra"]["response"] = {
        "model": "m",
        "choices": [{"finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens": 2},
    }
    value["info"]["config"] = {
        "agent": {"step_limit": 3},
        "environment": {"image": "i", "env": {"A": "b"}, "timeout": 9},
    }
    return mutated(draw, value)


@cache
def _exported() -> bytes:
    """Export one of our trials as mini-swe-agent's document, with all our own keys."""
    with tempfile.TemporaryDirectory() as folder:
        return export(write_trial(Path(folder) / "t", Exit.of("submitted"), parent=Parent(trial="p", step=1)), "mini")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=mutations())
def test_any_change_is_imported_or_rejected_with_the_files_name(tmp_path: Path, value: Any) -> None:
    file = tmp_path / "any.json"
    file.write_text(json.dumps(value))
    try:
        made = import_file(file, tmp_path / "runs" / "batch")
    except BadDocument as error:
        assert str(error).startswith(f"{file}: ")  # noqa: PT017
        return
    events = list(read_events(made.directory))
    assert [event.seq for event in events] == list(range(len(events)))
    assert export(made.directory, "mini") == file.read_bytes()
    assert json.loads(export(made.directory, "atif"))
    if made.summary.steps:
        assert json.loads(export(made.directory, "openai"))
