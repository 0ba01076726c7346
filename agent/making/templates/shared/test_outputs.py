"""Runs the program on files and on standard input. A missing program passes none of these tests."""

import subprocess

import pytest


def total(*arguments, text=""):
    command = ["python3", "-I", "/workspace/total.py", *arguments]
    process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=10)
    return process.stdout, process.stderr, process.returncode


@pytest.mark.parametrize(("text", "result"), [("7\n", 7), ("5\n-12\n", -7), ("1\n\n2\n\n", 3)])
def test_sum_of_a_file(tmp_path, text, result):
    (tmp_path / "numbers.txt").write_text(text)
    assert total(str(tmp_path / "numbers.txt")) == (f"{result}\n", "", 0)


def test_sum_of_standard_input():
    assert total(text="100\n11\n") == ("111\n", "", 0)


@pytest.mark.parametrize(("text", "line"), [("1\nx\n", 2), ("1.5\n", 1)])
def test_a_line_that_is_not_a_number(text, line):
    assert total(text=text) == ("", f"total: line {line}: not a whole number\n", 1)
