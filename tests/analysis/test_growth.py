"""Growth and structure of the code, compared with counts made by hand."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings, strategies as st

from tests.analysis.trials import Did, Step, record
from trajectories.analysis import analyze_trial
from trajectories.analysis.code.functions import function_lengths
from trajectories.analysis.code.growth import Growth
from trajectories.analysis.code.languages import LARGEST_SOURCE_BYTES
from trajectories.record.events import Change

CAT = Did("cat > a.py <<'E'\nx\nE")


def lines(word: str, count: int) -> str:
    return "".join(f"{word}{number} = {number}\n\n" for number in range(count))  # every second line is blank


def test_lines_after_each_step_and_the_largest_step(tmp_path: Path) -> None:
    """Step 1 writes ten lines, step 2 thirty; step 3 removes five of these and adds two; a document never counts."""
    kept = lines("b", 30).replace(lines("b", 5), "")
    trial = record(
        tmp_path / "t",
        [
            Step([CAT], {"a.py": lines("a", 10), "README.md": "text\n" * 500}),
            Step([CAT], {"src/b.c": lines("b", 30)}),
            Step([CAT], {"src/b.c": kept + lines("new", 2)}),
            Step([Did("ls")]),
        ],
    )
    growth = analyze_trial(trial).growth
    assert growth is not None
    assert growth.initial_lines == 0
    assert growth.final_lines == 10 + 25 + 2
    assert growth.written_by_step == {1: 10, 2: 30, 3: 2}
    assert growth.written_lines == 42
    assert growth.surviving_lines == 37
    assert growth.largest_step is not None
    assert (growth.largest_step.step, growth.largest_step.lines) == (2, 25)
    assert growth.largest_step.share == pytest.approx(25 / 37, abs=1e-4)
    assert [growth.curve[at] for at in (0, 24, 25, 49, 50, 74, 75, 100)] == [0, 0, 10, 10, 40, 40, 37, 37]


def test_initial_lines_do_not_count_as_written(tmp_path: Path) -> None:
    trial = record(
        tmp_path / "t",
        [Step([CAT], {"lib.py": lines("old", 20) + lines("new", 3)}), Step([CAT], {"lib.py": lines("old", 20)})],
        initial={"lib.py": (lines("old", 20).encode(), 0o644)},
    )
    growth = analyze_trial(trial).growth
    assert growth is not None
    assert (growth.initial_lines, growth.final_lines, growth.written_lines) == (20, 20, 3)
    assert growth.largest_step is None
    assert growth.surviving_lines == 0


def test_a_renamed_file_and_a_moved_function_are_not_written_again(tmp_path: Path) -> None:
    first, second = lines("f", 8), lines("g", 8)
    trial = record(
        tmp_path / "t",
        [
            Step([CAT], {"all.py": first + second}),
            Step([Did("mv all.py one.py")], {"all.py": None, "one.py": first + second}),
            Step([CAT], {"one.py": first, "two.py": second}),
        ],
    )
    growth = analyze_trial(trial).growth
    assert growth is not None
    assert growth.written_by_step == {1: 16}
    assert growth.largest_step is not None
    assert growth.largest_step.share == 1.0


def test_changed_files_are_distinct_paths_and_a_mode_does_not_count(tmp_path: Path) -> None:
    trial = record(
        tmp_path / "t",
        [
            Step([CAT], {"a.py": "1\n", "data.bin": b"\0\1"}),
            Step([CAT], {"a.py": "2\n", "there.py": "same\n"}),
            Step([CAT], {"a.py": "3\n"}),
            Step([CAT], {"a.py": None, "there.py": None, ".git/index": "x", "__pycache__/a.pyc": b"\0"}),
        ],
        initial={"there.py": (b"same\n", 0o644)},
    )
    files = analyze_trial(trial).files
    assert files is not None
    assert (files.created, files.modified, files.deleted) == (2, 1, 2)


def test_damaged_contents_are_counted_and_not_guessed(tmp_path: Path) -> None:
    trial = record(tmp_path / "t", [Step([CAT], {"a.py": "1\n"}), Step([CAT], {"b.py": "2\n3\n"})])
    for blob in sorted((trial / "blobs").rglob("*.zst"))[:1]:
        blob.write_bytes(b"damaged")
    growth = analyze_trial(trial).growth
    assert growth is not None
    assert growth.unread == 1
    assert growth.final_lines in (1, 2)


def test_structure_by_hand(tmp_path: Path) -> None:
    python = (
        "import os\n\n\ndef one():\n    return 1\n\n\nclass A:\n    def two(self):\n        a = 1\n\n        return a\n"
    )
    trial = record(
        tmp_path / "t",
        [
            Step(
                [CAT],
                {
                    "main.py": python,
                    "src/deep/er/x.c": "int f(void)\n{\n  return 1;\n}\nint g(void) { return 2; }\n",
                    "src/y.rs": "fn a() {}\nimpl B { fn b(&self) {\n} }\n",
                    "run": "#!/usr/bin/env bash\nhello() {\n  echo\n}\nhello\n",
                    "web/z.ts": "const f = () => {\n  return 1\n}\nfunction g() {}\nclass C { m() {} }\n",
                    "b/a.lua": "function x() end\n",
                    "notes.txt": "x\n" * 100,
                    "data.json": "{}\n",
                },
            )
        ],
    )
    structure = analyze_trial(trial).structure
    assert structure is not None
    assert (structure.files, structure.source_files, structure.source) == (8, 6, "snapshots")
    assert structure.deepest == 3
    assert structure.mean_depth == pytest.approx((0 + 3 + 1 + 0 + 1 + 1) / 6, abs=1e-3)
    counts = {
        name: (part.files, part.lines, part.functions.count if part.functions else None)
        for name, part in structure.languages.items()
    }
    assert counts == {
        "Python": (1, 7, 2),
        "C": (1, 5, 2),
        "Bash": (1, 5, 1),
        "TypeScript": (1, 5, 3),
        "Rust": (1, 3, 2),
        "Lua": (1, 1, None),
    }
    assert sum(part.share for part in structure.languages.values()) == pytest.approx(1, abs=1e-3)
    assert structure.functions is not None
    lengths = sorted([2, 4, 4, 1, 1, 2, 3, 3, 1, 1])
    assert structure.functions.count == len(lengths)
    assert structure.functions.mean_lines == pytest.approx(sum(lengths) / len(lengths))
    assert structure.functions.longest_lines == 4


@pytest.mark.parametrize(("bytes_above", "source_files"), [(0, 1), (1, 0)])
def test_a_file_above_the_largest_size_is_data(tmp_path: Path, bytes_above: int, source_files: int) -> None:
    content = b"#" * (LARGEST_SOURCE_BYTES + bytes_above)
    analysis = analyze_trial(record(tmp_path / "snapshots", [Step([CAT], {"a.py": content})]))
    assert analysis.growth is not None
    assert analysis.structure is not None
    assert (analysis.growth.final_lines, analysis.structure.source_files) == (source_files, source_files)
    exported = record(tmp_path / "archive", [Step([CAT])], snapshots=False)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo("a.py")
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    (exported / "workspace.tar.zst").write_bytes(zstandard.compress(buffer.getvalue()))
    structure = analyze_trial(exported).structure
    assert structure is not None
    assert (structure.files, structure.source_files) == (1, source_files)


@pytest.mark.parametrize(("size", "lengths"), [(1 << 20, [1]), ((1 << 20) + 1, None)])
def test_functions_of_a_larger_file_are_unknown(size: int, lengths: list[int] | None) -> None:
    assert function_lengths("Python", b"def f(): pass\n".ljust(size, b"#")) == lengths


def test_without_snapshots_the_exported_workspace_gives_the_structure(recordings: Path) -> None:
    analysis = analyze_trial(recordings / "ledger")
    assert analysis.growth is None
    assert analysis.files is None
    assert analysis.structure is not None
    assert analysis.structure.source == "archive"
    assert set(analysis.structure.languages) == {"Python", "Bash"}
    assert analysis.notes


def test_an_empty_trial(tmp_path: Path) -> None:
    analysis = analyze_trial(record(tmp_path / "t", [], closed=False, snapshots=False))
    assert (analysis.steps, analysis.exit, analysis.growth, analysis.structure) == (0, None, None, None)


TEXT = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), max_size=8).map("\n".join)
HISTORY = st.lists(
    st.dictionaries(st.sampled_from(["x.py", "y.c", "z/w.sh"]), st.none() | TEXT, max_size=3), max_size=6
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HISTORY)
def test_lines_are_always_those_of_the_files_and_belong_to_one_step(history: list[dict[str, str | None]]) -> None:
    contents: dict[str, bytes] = {}
    growth = Growth(lambda change: contents[change.path])
    there: dict[str, str] = {}
    for step, files in enumerate(history):
        changes = []
        for path, text in files.items():
            if text is None:
                if there.pop(path, None) is not None:
                    changes.append(Change(path=path, change="deleted"))
                continue
            kind = "modified" if path in there else "created"
            there[path], contents[path] = text, text.encode()
            changes.append(Change(path=path, change=kind, sha256=text, size=len(text)))
        growth.feed(changes, step)
        expected = sum(1 for text in there.values() for line in text.split("\n") if line)
        assert growth.lines == expected == growth.surviving().total()
        assert all(growth.surviving()[origin] <= growth.written[origin] for origin in growth.surviving())
