"""No argument at all."""


def test_nobody(candidate):
    assert candidate().code == 2
