"""Registering folders of task directories under a name: the key `datasets` of the user's `config.yaml`.

The file is edited as text, so that its comments stay. Two commands at a time wait for each other.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from agent.config import DATASETS, config_path, dataset_name_problem, datasets
from agent.errors import UserError
from benchmarks.task.datasets.dataset import Dataset
from benchmarks.task.task import TaskError


def add_dataset(directory: Path, name: str | None = None) -> Dataset:
    """Register a folder of task directories under a name, by default the folder's own.

    Raises: UserError (no folder of tasks, a name that cannot be used or that another folder has).
    """
    folder = directory.expanduser().resolve()
    chosen = folder.name if name is None else name
    if problem := dataset_name_problem(chosen):
        raise UserError(problem if name is not None else f"{problem}, with --name")
    dataset = Dataset(chosen, folder)
    _require_tasks(dataset)
    with _changing() as registered:
        if registered.get(chosen, folder).resolve() != folder:
            raise UserError(
                f"{chosen} is already the name of {registered[chosen]}; choose another --name, or forget that one "
                f"first: agent tasks remove {chosen}"
            )
        if chosen not in registered:
            _write({**registered, chosen: folder}, added=chosen)
    return dataset


def remove_dataset(name: str) -> Path:
    """Forget a dataset; return its folder, which stays as it is.

    Raises: UserError for an unknown name.
    """
    with _changing() as registered:
        if name not in registered:
            existing = ", ".join(registered) or "there are none"
            raise UserError(f"no dataset is named {name!r}; the registered ones: {existing}")
        _write({key: folder for key, folder in registered.items() if key != name}, removed=name)
    return registered[name]


def _require_tasks(dataset: Dataset) -> None:
    if not dataset.root.is_dir():
        raise UserError(f"{dataset.root}: no such directory")
    if (dataset.root / "task.yaml").is_file() or (dataset.root / "task.toml").is_file():
        raise UserError(
            f"{dataset.root}: is a task itself; use its path as TASK, or register the folder {dataset.root.parent}"
        )
    try:
        if dataset.ids():
            return
    except TaskError as error:
        raise UserError(str(error)) from None
    raise UserError(f"{dataset.root}: holds no task directory (with a task.yaml or task.toml)")


@contextmanager
def _changing() -> Iterator[Mapping[str, Path]]:
    """Give the registered datasets, with no other command between reading and writing them."""
    folder = config_path().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield datasets()
        finally:
            os.close(handle)
    except OSError as error:
        raise UserError(f"{config_path()}: cannot be changed: {error.strerror}") from None


def _write(wanted: Mapping[str, Path], *, added: str | None = None, removed: str | None = None) -> None:
    """Replace `config.yaml` by one with these datasets and everything else as it was. Raises: UserError, OSError."""
    path = config_path().resolve()
    before = path.read_text(encoding="utf-8-sig") if path.exists() else ""
    text = _without(before, removed) if removed is not None else _with(before, str(added), wanted)
    content, former = yaml.safe_load(text) or {}, yaml.safe_load(before) or {}
    kept = {key: value for key, value in former.items() if key != DATASETS}
    if {key: value for key, value in content.items() if key != DATASETS} != kept or set(
        content.get(DATASETS) or {}
    ) != set(wanted):
        raise UserError(f"{config_path()}: write its key {DATASETS} in lines of their own, as NAME: DIRECTORY")
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".config-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _with(text: str, name: str, wanted: Mapping[str, Path]) -> str:
    """Return the file with one more dataset."""
    line = yaml.safe_dump({name: str(wanted[name])}, width=10_000, allow_unicode=True)
    key, value = _node(text)
    if isinstance(value, yaml.MappingNode) and value.value and not value.flow_style:
        lines = text.splitlines(keepends=True)
        at, indent = value.value[0][0].start_mark.line, value.start_mark.column
        return "".join(lines[:at]) + " " * indent + line + "".join(lines[at:])
    if key is not None and value is not None:  # nothing, or a mapping in braces
        block = "".join(
            "  " + yaml.safe_dump({each: str(folder)}, width=10_000, allow_unicode=True)
            for each, folder in wanted.items()
        )
        rest = text[value.end_mark.index :].lstrip(" ")
        return f"{text[: key.start_mark.index]}{DATASETS}:\n{block.removesuffix(chr(10))}{rest or chr(10)}"
    return text + ("" if not text or text.endswith("\n") else "\n") + f"{DATASETS}:\n  {line}"


def _without(text: str, name: str) -> str:
    """Return the file without a dataset, if it stands in lines of its own."""
    key, value = _node(text)
    assert key is not None
    assert isinstance(value, yaml.MappingNode)
    lines = text.splitlines(keepends=True)
    if len(value.value) == 1 and not value.flow_style:
        del lines[key.start_mark.line : value.value[0][1].end_mark.line + 1]
        return "".join(lines)
    for entry, folder in value.value:
        if entry.value == name and not value.flow_style:
            del lines[entry.start_mark.line : folder.end_mark.line + 1]
            return "".join(lines)
    others = {entry.value: folder.value for entry, folder in value.value if entry.value != name}
    braces = yaml.safe_dump(others, width=10_000, allow_unicode=True, default_flow_style=True).rstrip("\n")
    return text[: value.start_mark.index] + braces + text[value.end_mark.index :]


def _node(text: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    """Return the key `datasets` and its value as they stand in the file."""
    root = yaml.compose(text, yaml.SafeLoader)
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            if key.value == DATASETS:
                return key, value
    return None, None
