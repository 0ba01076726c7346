import sys

import pytest

sys.path.insert(0, "/app/greetings")


@pytest.mark.parametrize(("language", "word"), [("de", "Hallo"), ("fr", "Bonjour")])
def test_language(language, word):
    from greetings import greet

    assert greet("A/B [c]", language) == f"{word}, A/B [c]!"


def test_unknown_language():
    from greetings import greet

    with pytest.raises(KeyError):
        greet("A", "xx")


@pytest.mark.skipif(sys.platform == "linux", reason="not on this system")
def test_elsewhere():
    raise AssertionError
