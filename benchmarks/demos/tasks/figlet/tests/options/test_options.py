"""Information, combined and unknown options, messages and exit status."""


def test_options(difference):
    assert not difference
