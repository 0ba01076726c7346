"""`agent --help` loads nothing slow: each of these costs more than the whole of what it may take."""

import subprocess
import sys

SLOW = ["docker", "hypothesis", "jinja2", "litellm", "matplotlib", "numpy", "openai", "pydantic", "pygments", "pytest"]
SLOW += ["rich", "scipy", "tiktoken", "tree_sitter", "yaml"]
PROGRAM = """
import sys
sys.argv = ["agent", *sys.argv[1:]]
from agent.cli.main import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Usage: agent" in done.stdout
    return set(done.stderr.split())


def test_help_loads_nothing_slow() -> None:
    assert sorted(loaded_by("--help") & set(SLOW)) == []


def test_help_of_a_command_loads_nothing_slow() -> None:
    """But pydantic, with which typer reads the values of options."""
    assert sorted(loaded_by("solve", "--help") & set(SLOW) - {"pydantic"}) == []
