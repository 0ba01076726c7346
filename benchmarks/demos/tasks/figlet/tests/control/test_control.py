"""Control files, character sets and multi-byte input."""


def test_control(difference):
    assert not difference
