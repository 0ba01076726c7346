"""`agent --help` loads no slow package: to import any of these takes longer than the help may take as a whole."""

import subprocess
import sys
from importlib.metadata import version

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
print(*sorted(name for name in sys.modules if name.startswith("agent.cli.commands.")), file=sys.stderr)
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    result = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "Usage: agent" in result.stdout
    return set(result.stderr.split())


def test_help_loads_no_slow_package() -> None:
    assert sorted(loaded_by("--help") & set(SLOW)) == []


def test_help_of_a_command_loads_no_slow_package_except_pydantic() -> None:
    """The options of a command need pydantic, because typer reads their values with it."""
    assert sorted(loaded_by("solve", "--help") & set(SLOW) - {"pydantic"}) == []


def test_help_imports_no_command_and_a_command_only_itself() -> None:
    assert not {name for name in loaded_by("--help") if name.startswith("agent.cli.commands")}
    loaded = {name for name in loaded_by("import", "--help") if name.startswith("agent.cli.commands")}
    assert loaded == {"agent.cli.commands.import_"}


def test_the_version_is_shown() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM, "--version"], capture_output=True, text=True)
    assert result.stdout == f"retrace {version('retrace-agent')}\n"
