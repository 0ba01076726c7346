import sys

sys.path.insert(0, "/app/greetings")


def test_english():
    from greetings import greet

    assert greet("A") == "Hello, A!"


def test_instruction_unchanged():
    with open("/app/INSTRUCTION.md") as file:
        assert file.readline() == "# Greet in more languages\n"
