import time
import urllib.request
from pathlib import Path


def test_file():
    assert Path("/srv/site/index.html").read_text().strip() == "hello"


def test_server():
    for _ in range(8):
        try:
            with urllib.request.urlopen("http://127.0.0.1:8080/") as answer:
                assert answer.read().strip() == b"hello"
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("no server on port 8080")
