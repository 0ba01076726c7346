"""Sums of files and of standard input. No program that ignores its input passes one of these cases."""

import pytest

SUMS = {"one number": ("7\n", 7), "negative": ("5\n-12\n", -7), "blank lines": ("1\n\n2\n\n", 3)}


@pytest.mark.parametrize("name", SUMS)
def test_sum_of_a_file(candidate, name):
    text, total = SUMS[name]
    result = candidate("numbers.txt", files={"numbers.txt": text})
    assert (result.stdout, result.stderr, result.code) == (f"{total}\n".encode(), b"", 0)


def test_sum_of_standard_input(candidate):
    result = candidate(stdin="100\n11\n")
    assert (result.stdout, result.stderr, result.code) == (b"111\n", b"", 0)
