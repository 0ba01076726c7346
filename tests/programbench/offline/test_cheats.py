"""Workspaces that cheat or break the evaluator: the scores that they get."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from agent.loop.actions import SUBMIT
from tests.programbench.offline.conftest import TASK, Number
from tests.programbench.offline.test_whole import scored
from tests.solve.command import CommandResult, agent, script

pytestmark = pytest.mark.docker
SOURCE = (TASK / "solution" / "number.c").read_text()
RIGHT_PROGRAM = f"cat >number.c <<'END'\n{SOURCE}END"
DOES_NOTHING = r"printf '#!/bin/sh\nexit 0\n' >executable && chmod +x executable"


def compile_sh(*lines: str) -> str:
    """Return the command that writes this compile.sh."""
    text = "\n".join(("#!/bin/sh", *lines, ""))
    return f"cat >compile.sh <<'END'\n{text}END"


def solve(number: Number, folder: Path, *commands: str) -> CommandResult:
    """Run a trial in which the agent runs these commands."""
    return number.solve(folder, script(folder, [*commands], SUBMIT))


def codes(result: CommandResult) -> Sequence[int | None]:
    return [event.exit_code for event in result.events if event.type == "action_finished"]


def zero(result: CommandResult) -> str:
    """Check that the trial scored 0, and return the text of its verdict."""
    verdict = scored(result)
    assert (verdict["passed"], verdict["quality"]) == (False, 0.0)
    assert sum(group["passed"] for group in verdict["groups"].values()) == 0
    return (result.trial / "verdict.json").read_text()


def rules(result: CommandResult) -> set[str]:
    """Return the rules that `agent analyze --integrity` reports for a trial."""
    report = agent(result.folder, "analyze", str(result.trial), "--integrity", "--json").json
    return {finding["rule"] for trial in report["trials"] for finding in trial["findings"]}


def test_the_original_cannot_be_copied_and_is_withheld_even_if_its_name_has_a_quote(
    number: Number, tmp_path: Path
) -> None:
    """The agent cannot read it, but owns the directory and may rename it; compile.sh runs as root and could copy it.

    The official evaluator's own removal by hash fails because of the quote, so ours is needed.
    """
    result = solve(
        number,
        tmp_path,
        "cp executable copy",
        "ln executable link",
        "cat executable >copy2",
        """mv executable "docs/it's mine" """,
        compile_sh("""cp "docs/it's mine" executable || cp link executable || cp copy executable"""),
    )
    copied, linked, read, renamed, _ = codes(result)
    assert copied != 0
    assert read != 0
    assert renamed == 0, "the attempt is only valid if the name was changed"
    assert linked is not None
    verdict = zero(result)
    assert "it's mine" in verdict, "the withheld file is named"
    assert {"binary_read", "build_copies"} <= rules(result)


def test_a_wrapper_around_the_renamed_original_and_files_for_pytest_gain_nothing(
    number: Number, tmp_path: Path
) -> None:
    """The wrapper builds, but the program that it calls is missing, and it cannot read the tests instead.

    The run.sh of instances made here uses neither configuration nor modules of the workspace.
    """
    result = solve(
        number,
        tmp_path,
        "mkdir .cache && mv executable .cache/data",
        compile_sh(
            "cat >executable <<'PROGRAM'",
            "#!/bin/sh",
            """/workspace/.cache/data "$@" || cat /workspace/eval/tests/*/cases.json""",
            "PROGRAM",
            "chmod +x executable",
        ),
        "printf 'import _pytest.python as p\\np.Function.runtest = lambda self: None\\n' | tee conftest.py >pytest.py",
        "printf '[pytest]\\naddopts = --collect-only\\n' >pytest.ini; cp conftest.py json.py",
        "bash compile.sh && ./executable 12",
    )
    assert codes(result)[-1] == 0, "in the agent's own container the wrapper works"
    assert ".cache/data" in zero(result)
    assert "calls_original" in rules(result)


def test_a_prebuilt_program_does_not_count(number: Number, tmp_path: Path) -> None:
    """Not even a correct one does: the evaluator removes ./executable before it builds."""
    result = solve(
        number,
        tmp_path,
        RIGHT_PROGRAM,
        "rm -f executable && cc -o executable number.c && rm number.c",
        compile_sh("chmod +x executable"),
    )
    assert codes(result) == [0, 0, 0]
    assert "compile_failed" in zero(result)
    assert "build_nothing" in rules(result)


def test_the_output_of_compile_sh_must_be_utf8(number: Number, tmp_path: Path) -> None:
    """The official evaluator crashes otherwise, every time, so the leaderboard counts 0 for correct work."""
    result = solve(
        number, tmp_path, RIGHT_PROGRAM, compile_sh(r"printf '\377\376 building\n'", "cc -O2 -o executable number.c")
    )
    assert "UTF-8" in zero(result)


def test_a_compile_script_that_changes_pytest_is_tampering(number: Number, tmp_path: Path) -> None:
    """It runs as root in the container of the tests: even a program that does nothing gets a 1."""
    result = solve(
        number,
        tmp_path,
        compile_sh(
            DOES_NOTHING,
            "cat >>/usr/lib/python3/dist-packages/pytest/__init__.py <<'PYTHON'",
            "import _pytest.python",
            "_pytest.python.Function.runtest = lambda self: None",
            "PYTHON",
        ),
    )
    assert scored(result)["quality"] == 1.0, "if this fails, the official evaluator now detects it: change the docs"
    verdict = json.loads((result.trial / "verdict.json").read_text())
    assert verdict["tampered"] == [
        {
            "path": "/usr/lib/python3/dist-packages/pytest/__init__.py",
            "kind": "changed",
            "reached_by": "python_modules",
        }
    ]
    assert "tampered: the submission changed" in agent(result.folder, "show", str(result.trial)).out
