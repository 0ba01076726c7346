"""Drawing again and again in the same lines: nothing is left, also after a change of the terminal's size."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, strategies as st

from agent.cli.progress.region import Region
from tests.progress.terminal import Terminal

FRAMES = st.lists(
    st.tuples(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(10, 60)), min_size=1, max_size=8
)


@given(FRAMES)
def test_a_terminal_shows_the_last_frame_only(frames: list[tuple[list[int], int]]) -> None:
    terminal, region = Terminal(frames[0][1]), Region()
    terminal.feed("$ agent\r\n")
    for lengths, width in frames:
        terminal.resize(width)
        widths = [min(length, width - 1) for length in lengths]
        drawn = [str(number % 10) * length for number, length in enumerate(widths)]
        terminal.feed(region.redraw(drawn, widths, width, 200))
        before, *shown = terminal.text.split("\n")
        assert "\n".join([before, *shown]).replace("\n", "").startswith("$ agent")
        assert terminal.text.endswith("\n".join(drawn).rstrip("\n"))
        assert terminal.text.replace("\n", "") == "$ agent" + "".join(drawn)
        assert terminal.wraps
    terminal.feed(region.clear(frames[-1][1], 200))
    assert terminal.text.replace("\n", "") == "$ agent"


def test_the_cursor_is_below_the_lines_and_is_never_hidden() -> None:
    """A process that is killed leaves whole lines, and the shell's prompt comes below them."""
    text = Region().redraw(["one", "two"], [3, 3], 80, 24)
    terminal = Terminal(80)
    terminal.feed(text + "$ ")
    assert terminal.text == "one\ntwo\n$"
    assert "?25l" not in text
    assert terminal.wraps


def test_a_redraw_never_moves_above_the_terminal() -> None:
    region = Region()
    region.redraw(["x"] * 50, [1] * 50, 80, 60)
    assert "\x1b[9A" in region.redraw(["x"], [1], 80, 10)
    for before, after in pairwise([200, 100, 40, 10]):
        assert after < before
