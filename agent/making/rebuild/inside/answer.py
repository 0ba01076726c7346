"""Runs programs on the cases of a suite, inside a rebuild image: `SUITE <request >answers`, as user `agent`.

The request is JSON, {"cases": [...], "runs": [[path of a program, text to install there or null], ...]}.
The answer is one list of observations a run. How a case becomes an observation is the suite's own
matter (`observe` of its conftest.py); this file only starts programs.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/home/agent"}
TIMEOUT_S = 10


def suite_observe(suite):
    spec = importlib.util.spec_from_file_location("conftest", Path(suite, "conftest.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.observe


def run(program, *args, stdin, files, env, user=None):
    """One run in a fresh directory; without a controlling terminal, as in the evaluation; as `user`, if given."""
    with tempfile.TemporaryDirectory() as directory:
        for name, data in files.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        if user is not None:
            for path in (Path(directory), *Path(directory).rglob("*")):
                shutil.chown(path, user, user)
        command = [os.fsencode(program), *args]
        done = subprocess.run(
            command,
            cwd=directory,
            env={**ENV, "PWD": directory, **env},
            input=stdin,
            capture_output=True,
            timeout=TIMEOUT_S,
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        left = {
            str(path.relative_to(directory)): path.read_bytes() for path in Path(directory).rglob("*") if path.is_file()
        }
    code = 128 - done.returncode if done.returncode < 0 else done.returncode
    return SimpleNamespace(stdout=done.stdout, stderr=done.stderr, code=code, files=left)


def answer(observe, case, program):
    def candidate(*args, stdin=b"", files=None, env=None):
        return run(program, *args, stdin=stdin, files=files or {}, env=env or {})

    try:
        return observe(candidate, case, program)
    except (subprocess.TimeoutExpired, OSError, UnicodeError) as error:
        return {"failed": type(error).__name__, "detail": str(error)}


def main(suite):
    observe = suite_observe(suite)
    request = json.load(sys.stdin)
    answers = []
    for program, text in request["runs"]:
        if text is not None:
            Path(program).parent.mkdir(parents=True, exist_ok=True)
            Path(program).write_text(text)
            Path(program).chmod(0o755)
        answers.append([answer(observe, case, program) for case in request["cases"]])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
