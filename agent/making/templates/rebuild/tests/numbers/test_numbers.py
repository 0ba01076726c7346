def test_numbers(answers):
    answer, expected = answers
    assert answer == expected
