"""Answers of a supervisor are parsed into records, and an answer that makes no sense is the loss of the supervisor."""

from __future__ import annotations

import pytest

from environments.protocol import SupervisorLost
from environments.wire.answers import ActionEnd, Ready, cpu_total, note_of

ACTION = [
    *["exited", "3", "0", "1700000000000000", "250000", "1m0.500s", "0m0.250s"],
    *["4096", "2", "-", "30,7,", "10", "12", "0", "0"],
]


def changed(position: int, text: str) -> list[str]:
    return [*ACTION[:position], text, *ACTION[position + 1 :]]


def test_each_field_of_an_action_has_its_place() -> None:
    end = ActionEnd.parse(ACTION)
    assert end == ActionEnd(
        ended="exited",
        status=3,
        signal=0,
        began_us=1_700_000_000_000_000,
        duration_us=250_000,
        cpu_total_s=60.75,
        peak_memory_bytes=4096,
        left_running=2,
        note="-",
        left_pids=(7, 30),
        output_size=10,
        output_total=12,
        stderr_size=0,
        stderr_total=0,
    )


@pytest.mark.parametrize(
    "fields",
    [
        [],
        ["gone"],
        ACTION[:-1],
        [*ACTION, "0"],
        changed(0, "vanished"),
        changed(1, "-"),
        changed(3, "soon"),
        changed(5, "now"),
        changed(10, "many"),
        changed(11, "many"),
    ],
)
def test_an_answer_that_makes_no_sense_is_the_loss_of_the_supervisor(fields: list[str]) -> None:
    with pytest.raises(SupervisorLost, match="makes no sense"):
        ActionEnd.parse(fields)


def test_a_canceled_action_has_a_note_unless_it_was_canceled_before_it_began() -> None:
    canceled = ["cancelled", *changed(9, "killed")[1:]]
    assert note_of(canceled) == "killed"
    assert note_of(["gone"]) == note_of([]) == "-"


def test_processor_time_that_was_not_measured_is_unknown_and_not_zero() -> None:
    assert cpu_total("-", "-") is None
    assert cpu_total("0m0.000s", "0m0.000s") == 0.0


def test_a_bash_before_5_2_is_known_to_miss_alarms() -> None:
    def ready(version: str) -> Ready:
        return Ready.parse(["ready", version, "me", "1000", "1000", "1", "0", "1", "9"], "no tar\n")

    assert [ready(version).misses_alarms for version in ("4.4.20(1)-release", "5.1.16(1)", "5.2.15(1)-release")] == [
        True,
        True,
        False,
    ]
    assert ready("5.2").lost == ("no tar",)
    with pytest.raises(SupervisorLost, match="makes no sense"):
        Ready.parse(["ready", "5.2"], "")
