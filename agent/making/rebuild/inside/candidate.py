"""The fixture `candidate` of a suite that ProgramBench's evaluator runs: the program under test, started as `agent`.

Lies as `eval/conftest.py` beside `answer.py`, so that expectations and answers come about in one way.
"""

import importlib.util
from pathlib import Path

import pytest

PROGRAM = "/workspace/executable"


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


answer = load(Path(__file__).with_name("answer.py"))


@pytest.fixture
def candidate():
    def run(*args, stdin=b"", files=None, env=None):
        return answer.run(PROGRAM, *args, stdin=stdin, files=files or {}, env=env or {}, user="agent")

    return run
