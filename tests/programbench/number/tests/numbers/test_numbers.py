"""Whole numbers and fractions, one power of a thousand a line."""


def test_numbers(answers):
    seen, expected = answers
    assert seen == expected
