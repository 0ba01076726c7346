"""Which font is used, and what it looks like: the bundled ones, own ones, their headers, what is no font."""


def test_fonts(difference):
    assert not difference
