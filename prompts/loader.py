"""Finds a prompt by name or path, checks it, and compiles its templates once.

A prompt is a YAML mapping of Jinja templates. A missing or unknown key, or a template that does not compile, is an
error that names the file and the key. A prompt with `extends: NAME` takes missing keys from that shipped prompt; its
own `instruction` then replaces `{{ instruction }}` in the task. The complete prompt, without `extends`, is hashed and
recorded.

The file `NAME.yaml` is the newest version of a shipped prompt, and `NAME-1.yaml`, `NAME-2.yaml` are the earlier ones.
They stay as they are, byte for byte. A record names the version: `default-2` is the newest one while `default-1.yaml`
is the only earlier one, and `default` in an old record is version 1, from before versions had names.
"""

from __future__ import annotations

import hashlib
import re
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
            "fence",
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
    "format_error_fenced": frozenset(("problem", "fence")),
    "not_executed": frozenset(("why",)),
    "resumed": frozenset(("lost",)),
}
"""Keys of a prompt, each with the values that its template may use."""
OPTIONAL = frozenset(("resumed",))
"""Keys that a prompt may omit: the templates of version 1 of the default prompt are used."""
FENCE = "fence"
"""Key with the tag of the fenced block that is run, one word. Not a template. Without it, blocks of bash are run, by
the rule of version 1."""
EXTENDS = "extends"
"""Key with the name of the shipped prompt that has the missing keys. Not a template."""
JUDGING: dict[str, frozenset[str]] = {
    "system": frozenset(),
    "case": frozenset(("task", "originals", "workdir", "network", "last_step", "left_out", "transcript")),
    "again": frozenset(("problem",)),
}
"""Keys of the prompt of a model judge, each with the values that its template may use."""

_FOLDER = Path(__file__).parent
_FIRST = "default-1"
_TAG = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)


class PromptError(Exception):
    """A prompt that cannot be used."""


@dataclass(frozen=True)
class Prompt:
    """A named set of templates; `sha256` is over `data`."""

    name: str
    sha256: str
    templates: dict[str, jinja2.Template]
    data: bytes = b""
    """Content of the file, or, for a prompt that extends another, the complete prompt as YAML."""
    fence: str | None = None
    """Tag of the fenced block that is run; None for the rule of version 1 (`agent.loop.fences`)."""

    def render(self, key: str, **values: object) -> str:
        """Return a template with its values filled in; an undefined variable is an error.

        Raises: PromptError.
        """
        try:
            return self.templates[key].render(values)
        except jinja2.TemplateError as error:
            raise PromptError(f"prompt {self.name!r}, key {key!r}: {error}") from None


def names() -> list[str]:
    """Return the names of the prompts that come with Retrace."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load(name: str) -> Prompt:
    """Return the prompt with this name or in this file. A shipped one is named with its version.

    Raises: PromptError.
    """
    if (shipped := _shipped_name(name)) is not None:
        return parse(_with_version(shipped), (_FOLDER / f"{shipped}.yaml").read_bytes())
    if not Path(name).is_file():
        raise PromptError(f"no prompt {name!r}; give a file, or one of {', '.join(names())}")
    return parse(str(Path(name)), Path(name).read_bytes())


def with_sha256(sha256: str) -> Prompt | None:
    """Return the shipped prompt, of any version, with this hash of its content."""
    return next((prompt for prompt in map(load, names()) if prompt.sha256 == sha256), None)


def parse(name: str, data: bytes) -> Prompt:
    """Return the prompt in a file's bytes; `name` is its name, also in errors.

    Raises: PromptError.
    """
    path = Path(name)
    content = _texts(path, data)
    if EXTENDS in content:
        content = _extended(path, content)
        data = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_style="|", width=1000).encode()
    for key in OPTIONAL - content.keys():
        content[key] = _shipped(_FIRST)[key]
    fence = content.pop(FENCE, None)
    if fence is not None and not _TAG.fullmatch(fence):
        raise PromptError(
            f"{path}: key {FENCE!r} is {fence!r}; it must be one word of letters, digits, '_', '-' and '.'"
        )
    return Prompt(name, hashlib.sha256(data).hexdigest(), _compiled(path, content, VALUES), data, fence)


def load_judging(name: str) -> Prompt:
    """Return the prompt of a kind of model judge (`judging/NAME.yaml`, with the keys of `JUDGING`).

    Raises: PromptError.
    """
    path = _FOLDER / "judging" / f"{name}.yaml"
    data = path.read_bytes()
    return Prompt(name, hashlib.sha256(data).hexdigest(), _compiled(path, _texts(path, data), JUDGING), data)


def _texts(path: Path, data: bytes) -> dict[str, str]:
    try:
        content = yaml.safe_load(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: not UTF-8 (byte {error.start})") from None
    except yaml.YAMLError as error:
        raise PromptError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(content, dict) or not all(isinstance(value, str) for value in content.values()):
        raise PromptError(f"{path}: must be a mapping from keys to texts")
    return content


def _extended(path: Path, content: dict[str, str]) -> dict[str, str]:
    """Return the complete templates of a prompt that extends another."""
    own = dict(content)
    name, instruction = own.pop(EXTENDS), own.pop("instruction", None)
    if _shipped_name(name) is None:
        raise PromptError(f"{path}: extends {name!r}, which is not one of {', '.join(names())}")
    if instruction is not None and "task" in own:
        raise PromptError(f"{path}: has both 'instruction' and 'task'; omit one of them")
    whole = {**_shipped(name), **own}
    if instruction is not None:
        whole["task"] = whole["task"].replace("{{ instruction }}", instruction)
    return whole


def _shipped_name(name: str) -> str | None:
    """Return the name of a shipped prompt's file; `default-2` may be the newest version, which is in `default.yaml`."""
    return next((shipped for shipped in names() if name in (shipped, _with_version(shipped))), None)


def _with_version(shipped: str) -> str:
    """Return the name of a shipped prompt with its version: one more than the number of earlier ones."""
    earlier = sum(name.rpartition("-")[0] == shipped and name.rpartition("-")[2].isdigit() for name in names())
    return f"{shipped}-{earlier + 1}" if earlier else shipped


def _shipped(name: str) -> dict[str, str]:
    path = _FOLDER / f"{_shipped_name(name)}.yaml"
    content = _texts(path, path.read_bytes())
    return _extended(path, content) if EXTENDS in content else content


def _compiled(path: Path, content: dict[str, str], values: dict[str, frozenset[str]]) -> dict[str, jinja2.Template]:
    missing = [key for key in values if key not in content]
    unknown_keys = [str(key) for key in content if key not in values]
    if missing or unknown_keys:
        problem = f"key {missing[0]!r} is missing" if missing else f"unknown key {unknown_keys[0]!r}"
        keys = [*values, FENCE] if values is VALUES else [*values]
        raise PromptError(f"{path}: {problem}; keys are {', '.join(keys)}")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=False, autoescape=False)
    templates = {}
    for key in values:
        try:
            unknown = jinja2.meta.find_undeclared_variables(environment.parse(content[key])) - values[key]
            templates[key] = environment.from_string(content[key])
        except jinja2.TemplateError as error:
            raise PromptError(f"{path}: key {key!r} does not compile: {error}") from None
        if unknown:
            usable = ", ".join(sorted(values[key])) or "no values"
            raise PromptError(f"{path}: key {key!r} uses {sorted(unknown)[0]!r}, which does not exist; use {usable}")
    return templates
