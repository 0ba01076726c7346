"""Finds a prompt by name or path, checks it, and compiles its templates once.

A prompt is a YAML mapping of Jinja templates; a missing or unknown key, or a template that does not
compile, is an error that names the file and the key.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import jinja2
import jinja2.meta
import yaml

VALUES: dict[str, frozenset[str]] = {
    "system": frozenset(),
    "task": frozenset(
        {
            "instruction",
            "action_format",
            "workdir",
            "user",
            "network",
            "shell",
            "command_s",
            "steps",
            "time_s",
            "submit",
        }
    ),
    "plan": frozenset(("plan",)),
    "observation": frozenset(
        {
            "ended",
            "exit_code",
            "signal",
            "duration_s",
            "bytes",
            "left_running",
            "shell_lost",
            "output",
            "stderr",
            "steps_left",
            "seconds_left",
        }
    ),
    "format_error_tool": frozenset(("problem",)),
    "format_error_fenced": frozenset(("problem",)),
    "not_executed": frozenset(("why",)),
    "resumed": frozenset(("lost",)),
}
"""The keys of a prompt, and what each template may use."""
KEYS = tuple(VALUES)
OPTIONAL = frozenset(("resumed",))
"""Keys that a prompt may leave to the default one."""

_FOLDER = Path(__file__).parent


class PromptError(Exception):
    """A prompt that cannot be used."""


@dataclass(frozen=True)
class Prompt:
    """A named set of templates; `sha256` is over the file's bytes."""

    name: str
    sha256: str
    templates: dict[str, jinja2.Template]
    data: bytes = b""
    """The file itself."""

    def render(self, key: str, **values: object) -> str:
        """One template with its values; an undefined variable is an error.

        Raises: PromptError.
        """
        try:
            return self.templates[key].render(values)
        except jinja2.TemplateError as error:
            raise PromptError(f"prompt {self.name!r}, key {key!r}: {error}") from None


def names() -> list[str]:
    """The prompts that come with the project."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load(name: str) -> Prompt:
    """The prompt with this name, or in this file.

    Raises: PromptError.
    """
    shipped = _FOLDER / f"{name}.yaml"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        raise PromptError(f"no prompt {name!r}: neither a file nor one of {', '.join(names())}")
    return parse(path.stem if path == shipped else str(path), path.read_bytes())


def parse(name: str, data: bytes) -> Prompt:
    """The prompt that a file's bytes hold; `name` is what it is called, also in errors.

    Raises: PromptError.
    """
    path = Path(name)
    try:
        content = yaml.safe_load(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: not UTF-8 (byte {error.start})") from None
    except yaml.YAMLError as error:
        raise PromptError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise PromptError(f"{path}: must be a mapping of texts")
    for key in OPTIONAL - content.keys():
        content[key] = yaml.safe_load((_FOLDER / "default.yaml").read_bytes())[key]
    missing = [key for key in KEYS if key not in content]
    unknown = [str(key) for key in content if key not in KEYS]
    if missing or unknown:
        problem = f"key {missing[0]!r} is missing" if missing else f"unknown key {unknown[0]!r}"
        raise PromptError(f"{path}: {problem}; keys are {', '.join(KEYS)}")
    return Prompt(name, hashlib.sha256(data).hexdigest(), _compiled(path, content), data)


def _compiled(path: Path, content: dict[str, str]) -> dict[str, jinja2.Template]:
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)
    templates = {}
    for key in KEYS:
        try:
            unknown = jinja2.meta.find_undeclared_variables(environment.parse(content[key])) - VALUES[key]
            templates[key] = environment.from_string(content[key])
        except jinja2.TemplateError as error:
            raise PromptError(f"{path}: key {key!r} does not compile: {error}") from None
        if unknown:
            can = ", ".join(sorted(VALUES[key])) or "no values"
            raise PromptError(f"{path}: key {key!r} uses {sorted(unknown)[0]!r}, which is not there; it can use {can}")
    return templates
