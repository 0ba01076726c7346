import subprocess
from pathlib import Path


def greeting(*arguments):
    return subprocess.run(["greet", *arguments], capture_output=True, text=True).stdout


def test_argument():
    assert greeting("moon") == "hello moon\n"


def test_configuration():
    assert Path("/etc/greet.conf").read_text().strip() == "world"
    assert greeting() == "hello world\n"
