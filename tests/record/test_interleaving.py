"""Lines of two streams are merged in the order of a record, if the record is an order of both."""

from __future__ import annotations

from hypothesis import given, strategies as st

from trajectories.comparison.interleaving import merged_as

LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=8)


def equal(line: str, other: str) -> bool:
    return line == other


@given(LINES, LINES, st.randoms(use_true_random=False))
def test_every_order_of_both_streams_is_found(output: list[str], errors: list[str], random) -> None:  # type: ignore[no-untyped-def]
    left, right, recorded = [*output], [*errors], []
    while left or right:
        recorded.append((left if left and (not right or random.random() < 0.5) else right).pop(0))
    assert merged_as(recorded, output, errors, equal) == recorded


@given(LINES, LINES, LINES)
def test_another_record_is_not_an_order_of_both(recorded: list[str], output: list[str], errors: list[str]) -> None:
    merged = merged_as(recorded, output, errors, equal)
    if merged is not None:
        assert merged == recorded
        assert sorted(recorded) == sorted(output + errors)


def test_a_changed_order_within_a_stream_is_found_out() -> None:
    assert merged_as(["b", "a", "x"], ["a", "b"], ["x"], equal) is None
    assert merged_as(["x", "a", "b"], ["a", "b"], ["x"], equal) == ["x", "a", "b"]


def test_many_equal_lines_take_bounded_time() -> None:
    lines = ["x"] * 2000
    assert merged_as(lines * 2, lines, lines, equal) in (None, lines * 2)
