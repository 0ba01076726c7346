"""Counts of what plain English avoids, in the code and the documentation.

Three things are counted: docstrings that begin with a question word, the vague words `found` and `one` used as names,
and the phrases of `prose.txt`. Each has a limit that the whole project keeps.
"""

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CODE = ("agent", "benchmarks", "environments", "prompts", "scoring", "trajectories", "scripts", "tests")
PROSE = (*CODE, "docs", ".ci")
SKIPPED = ("benchmarks/demos/tasks", "tests/programbench/number", "docs/recordings", "tests/records", "prompts/*.yaml")
"""Files that are data, or texts for a model, rather than prose of the project."""

LIMITS = {"docstrings": 40, "names": 20, "phrases": 0}
MEANINGS = {
    "docstrings": "docstrings that begin with What, Whether, Which, How or Where",
    "names": "uses of `found` and `one` as names",
    "phrases": "phrases of scripts/prose.txt",
}

_QUESTION = re.compile(r"\W*(What|Whether|Which|How|Where)\b")
_VAGUE = frozenset({"found", "one"})
_GAP = r"""(?:[\s#"'`\\]|\b[rf](?=["']))+"""
"""Pattern of what may stand between two words of a phrase: a line break, the border of two string literals."""


@dataclass(frozen=True, order=True)
class Place:
    file: str
    line: int
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.text}"


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and text of each docstring of a module, class, function or attribute."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        owner = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for position, statement in enumerate(body):
            documents = owner if position == 0 else isinstance(body[position - 1], ast.Assign | ast.AnnAssign)
            if documents and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                text = statement.value.value
                if isinstance(text, str):
                    yield statement.lineno, text


def names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and name of each binding: assignments, loops, parameters, imports `as`, patterns, handlers."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from ((node.lineno, alias.asname) for alias in aliases if alias.asname)


def phrase_patterns(lines: str) -> list[re.Pattern[str]]:
    """Return a pattern for each phrase of a list like `prose.txt`; phrases may be broken over lines."""
    patterns = []
    for phrase in lines.splitlines():
        if phrase and not phrase.startswith("#"):
            exact = phrase[0].isupper()
            gapped = _GAP.join(re.escape(word) for word in phrase.split())
            patterns.append(re.compile(r"(?<!\w)" + gapped, 0 if exact else re.IGNORECASE))
    return patterns


def places(root: Path, patterns: list[re.Pattern[str]], within: tuple[Path, ...] = ()) -> Iterator[Place]:
    """Yield every place below `root` that counts against a limit; only those `within` some paths, if there are any."""
    for path in _files(root):
        if within and not any(path.is_relative_to(folder) for folder in within):
            continue
        name = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py" and name.startswith(CODE):
            tree = ast.parse(text, name)
            for line, documentation in docstrings(tree):
                if _QUESTION.match(documentation):
                    yield Place(name, line, "docstrings", documentation.strip().splitlines()[0])
            for line, bound in names(tree):
                if bound in _VAGUE:
                    yield Place(name, line, "names", bound)
        for pattern in patterns:
            for match in pattern.finditer(text):
                yield Place(name, text.count("\n", 0, match.start()) + 1, "phrases", " ".join(match[0].split()))


def _files(root: Path) -> Iterator[Path]:
    """Yield the files whose words are ours: Python, Markdown, YAML, TOML and shell scripts."""
    inside = (path for folder in PROSE for path in (root / folder).rglob("*"))
    for path in sorted((*root.glob("*"), *inside)):
        relative = path.relative_to(root)
        skipped = any(relative.match(data) or relative.as_posix().startswith(f"{data}/") for data in SKIPPED)
        if skipped or "__pycache__" in relative.parts or path.is_symlink() or not path.is_file():
            continue
        if path.suffix in {".py", ".md", ".sh", ".yaml", ".toml"} or _is_script(path):
            yield path


def _is_script(path: Path) -> bool:
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def main(arguments: list[str], root: Path) -> int:
    """Print the counts against their limits, or the list of places; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/prose", description="Count what plain English avoids.")
    parser.add_argument("--list", action="store_true", help="print each place instead of the counts")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="only these files and folders, with --list")
    options = parser.parse_args(arguments)
    if options.paths and not options.list:
        parser.error("PATH needs --list, because the limits are those of the whole project")
    missing = [path for path in options.paths if not (root / path).exists()]
    if missing:
        parser.error(f"no such file or folder in the project: {', '.join(missing)}")
    patterns = phrase_patterns((root / "scripts/prose.txt").read_text(encoding="utf-8"))
    everything = sorted(places(root, patterns, tuple(root / path for path in options.paths)))
    if options.list:
        for place in everything:
            print(place)
        return 0
    over = False
    for kind, limit in LIMITS.items():
        count = sum(place.kind == kind for place in everything)
        over = over or count > limit
        print(f"{count:5} of at most {limit:2}: {MEANINGS[kind]}")
    return int(over)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path.cwd()))
