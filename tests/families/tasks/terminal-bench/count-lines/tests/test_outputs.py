from pathlib import Path


def test_count():
    assert Path("/app/out.txt").read_text().strip() == "3"


def test_longest():
    assert Path("/app/longest.txt").read_text().strip() == "the second line"


def test_input_unchanged():
    assert Path("/app/in.txt").read_text().count("\n") == 3
