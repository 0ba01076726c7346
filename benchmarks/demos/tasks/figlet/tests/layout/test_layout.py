"""How letters move together: full width, kerning, smushing and its rules, overlapping."""


def test_layout(difference):
    assert not difference
