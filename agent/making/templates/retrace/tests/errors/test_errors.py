"""Lines that are not numbers."""

import pytest


@pytest.mark.parametrize(("text", "line"), [("1\nx\n", 2), ("1.5\n", 1)])
def test_a_line_that_is_not_a_number(candidate, text, line):
    result = candidate(stdin=text)
    message = f"total: line {line}: not a whole number\n".encode()
    assert (result.stdout, result.stderr, result.code) == (b"", message, 1)
