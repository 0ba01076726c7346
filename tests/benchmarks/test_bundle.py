"""The files that run beside the candidate need nothing but the standard library of Python 3.9 and pytest."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.judging import bundle

ALLOWED = {"pytest", *sys.stdlib_module_names, *(part.stem for part in bundle.PARTS)}


def imported(node: ast.AST) -> Iterator[str]:
    """Return the modules that a file imports when it runs: imports for type checking do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            for statement in child.orelse:
                yield from imported(ast.Module([statement], []))
        elif isinstance(child, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield "." * child.level + (child.module or "").partition(".")[0]
        else:
            yield from imported(child)


@pytest.mark.parametrize("part", bundle.PARTS, ids=lambda part: part.name)
def test_each_file_imports_only_the_standard_library_and_pytest(part: Path) -> None:
    tree = ast.parse(part.read_text(), feature_version=(3, 9))
    modules = set(imported(tree))
    assert modules
    assert modules - ALLOWED == set()


def test_every_file_of_the_folder_is_part_of_the_bundle() -> None:
    folder = {path.name for path in bundle.DRIVE.parent.glob("*.py")} - {"__init__.py"}
    assert folder <= {part.name for part in bundle.PARTS}
