"""A name as the only argument."""


def test_a_name(candidate):
    assert candidate("Ada").stdout == b"Hello, Ada!\n"


def test_a_name_with_a_blank(candidate):
    assert candidate("Ada Lovelace").stdout == b"Hello, Ada Lovelace!\n"
