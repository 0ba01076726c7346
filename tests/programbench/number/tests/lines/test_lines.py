"""One line a number, several numbers, standard input, and what is no number."""


def test_lines(answers):
    seen, expected = answers
    assert seen == expected
