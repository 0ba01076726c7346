"""Arguments and standard input: lines, paragraphs, tabs, control characters, bytes."""


def test_input(difference):
    assert not difference
