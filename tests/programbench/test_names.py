"""The names of instances, and the errors for unknown and ambiguous names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from benchmarks.programbench import instances
from benchmarks.programbench.names import named
from benchmarks.task.registry import resolve_task
from benchmarks.task.task import Named, TaskError
from tests.programbench.own import make_instance

FFMPEG = "ffmpeg__ffmpeg.360a402"
FIXTURE = "testorg__calculator.abc1234"
BATS = ("astaxie__bat.17d1080", "sharkdp__bat.f822bd0")


@pytest.mark.parametrize(
    "word", [FFMPEG, "ffmpeg__ffmpeg", "ffmpeg", "FFmpeg/FFmpeg", "ffmpeg/ffmpeg", "FFMPEG", "FFmpeg__FFmpeg.360A402"]
)
def test_ffmpeg_has_several_names(word: str) -> None:
    assert named(word) == Named(exactly=(FFMPEG,))
    assert resolve_task(word)[1].id == f"programbench/{FFMPEG}"
    assert resolve_task(f"programbench/{word}")[1].id == f"programbench/{FFMPEG}"


@pytest.mark.parametrize("word", ["age", "amber", "hex", "sd", "duc", "lua", "dsq"])
def test_a_name_that_is_part_of_others_means_its_own_repository(word: str) -> None:
    (id,) = named(word).exactly
    assert id.partition("__")[2].startswith(f"{word}.")


@given(st.sampled_from(instances.ids()))
def test_every_instance_can_be_named_without_the_commit(id: str) -> None:
    stem = id.rpartition(".")[0]
    for word in (id, stem, stem.replace("__", "/", 1), instances.instance(id).repository):
        assert named(word) == Named(exactly=(id,))
    assert id in named(instances.instance(id).repository.partition("/")[2]).exactly


@pytest.mark.parametrize("word", ["bat", "programbench/bat"])
def test_a_repository_name_that_two_owners_use_is_ambiguous(word: str) -> None:
    with pytest.raises(TaskError) as caught:
        resolve_task(word)
    assert str(caught.value) == f"{word!r} is ambiguous: programbench/{BATS[0]}, programbench/{BATS[1]}"
    assert resolve_task("astaxie/bat")[1].id == f"programbench/{BATS[0]}"


def test_a_name_of_both_a_demo_and_an_instance_is_ambiguous() -> None:
    with pytest.raises(TaskError, match=r"'figlet' is ambiguous: demo/figlet, programbench/cmatsuoka__figlet\.202a0a8"):
        resolve_task("figlet")
    assert resolve_task("demo/figlet")[1].benchmark == "demo"
    assert resolve_task("programbench/figlet")[1].id == "programbench/cmatsuoka__figlet.202a0a8"


def test_a_part_of_a_single_name_is_enough() -> None:
    assert resolve_task("ripg")[1].id == "programbench/burntsushi__ripgrep.3b7fd44"


def test_a_part_of_several_names_is_an_error_that_lists_them() -> None:
    with pytest.raises(TaskError) as caught:
        resolve_task("sharkdp")
    message = str(caught.value)
    assert message.startswith("no task is named 'sharkdp', but several contain it: programbench/sharkdp__bat.f822bd0")
    assert message.count("programbench/sharkdp__") == 5
    with pytest.raises(TaskError, match=r"and \d+ more; see `agent tasks list`$") as caught:
        resolve_task("a")
    assert str(caught.value).count("programbench/") == 12


@pytest.mark.parametrize("word", ["calculator", "testorg/calculator", FIXTURE, f"programbench/{FIXTURE}"])
def test_the_fixture_is_not_listed_but_can_be_named(word: str) -> None:
    assert resolve_task(word)[1].id == f"programbench/{FIXTURE}"
    assert FIXTURE not in instances.ids()
    assert named("testorg").perhaps == (), "a partial name never means it"


def test_a_listed_instance_takes_precedence_over_the_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(instances.TASKS_VARIABLE, str(tmp_path))
    id = make_instance(tmp_path, "Somebody/Calculator")
    assert named("calculator") == Named(exactly=(id,))


@pytest.mark.parametrize(
    ("word", "similar"),
    [
        ("ffmpge", FFMPEG),
        ("programbench/ffmpge", FFMPEG),
        ("demo/ffmpeg", FFMPEG),
        ("programbnch/ffmpeg", FFMPEG),
        ("programbench/sqlit3", "sqlite__sqlite.839433d"),
        ("astaxie/bta", BATS[0]),
    ],
)
def test_an_unknown_name_suggests_similar_ones(word: str, similar: str) -> None:
    with pytest.raises(TaskError) as caught:
        resolve_task(word)
    message = str(caught.value)
    assert message.startswith(f"unknown task {word!r}; did you mean ")
    assert f"programbench/{similar}" in message


def test_a_task_directory_takes_precedence_over_a_partial_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "ripg"
    directory.mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_task("ripg")[1].benchmark == "programbench", "a directory without a task does not count"
    (directory / "task.yaml").write_text("title: T\nkind: k\nenvironments: [local]\n")
    (directory / "instruction.md").write_text("Do it.")
    assert resolve_task("ripg")[1].id == "path/ripg"
    (tmp_path / "ffmpeg").symlink_to(directory)
    assert resolve_task("ffmpeg")[1].benchmark == "programbench", "an exact name takes precedence over a directory"


@given(st.text(max_size=40))
def test_any_word_means_existing_instances_or_nothing(word: str) -> None:
    meaning = named(word)
    assert set(meaning.exactly + meaning.perhaps) <= set(instances.ids(listed=False))
    assert not (meaning.exactly and meaning.perhaps)
