"""Finds a prompt by name or path, checks it, and compiles its templates once.

A prompt is a YAML mapping of Jinja templates and settings (`prompts.keys`). A prompt with `extends: NAME` takes missing
keys from that shipped prompt; its own `instruction` then replaces `{{ instruction }}` in the task. The complete prompt,
without `extends`, is hashed and recorded.

The file `NAME.yaml` is the newest version of a shipped prompt, and `NAME-1.yaml`, `NAME-2.yaml` are the earlier ones.
They stay as they are, byte for byte. A record names the version: `default-2` is the newest one while `default-1.yaml`
is the only earlier one, and `default` in an old record is version 1, from before versions had names.

Keys that came later stand in `fallback/NAME.yaml`, one file for each feature, which every prompt without them uses.
They are not part of a prompt's hash, so a trial without the feature keeps its identity.
"""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path
from typing import Any

import yaml

from prompts.checking import compiled, content_of, require_examples
from prompts.keys import (
    ASK_FENCE,
    ASK_TAG,
    EXTENDS,
    FENCE,
    INSTRUCTION,
    JUDGING,
    SHOWN_CHARACTERS,
    TEMPLATES,
    VARIABLES,
)
from prompts.prompt import Prompt, PromptError
from prompts.role_keys import ROLES

_FOLDER = Path(__file__).parent
_FIRST = "default-1"
_TAGS_OF_THE_FIRST = ("bash", "sh", "shell")
"""Tags of the blocks that are run with a prompt that names none (`agent.loop.fences`)."""
_OF_THE_FIRST = ("resumed",)
"""Keys that version 1 of the default prompt provides if a prompt lacks them."""


def names() -> list[str]:
    """Return the names of the prompts that come with Retrace."""
    return sorted(path.stem for path in _FOLDER.glob("*.yaml"))


def load(name: str) -> Prompt:
    """Return the prompt with this name or in this file. A shipped one is named with its version.

    Raises: PromptError.
    """
    if (shipped := _shipped_name(name)) is not None:
        return parse(_with_version(shipped), (_FOLDER / f"{shipped}.yaml").read_bytes())
    path = Path(name)
    try:
        if not path.is_file():
            raise PromptError(f"no prompt {name!r}; give a file, or one of {', '.join(names())}")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise PromptError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    prompt = parse(str(path), data)
    require_examples(prompt.name, prompt.templates, TEMPLATES)
    return prompt


def with_sha256(sha256: str) -> Prompt | None:
    """Return the shipped prompt, of any version, with this hash of its content."""
    return next((prompt for prompt in map(load, names()) if prompt.sha256 == sha256), None)


@functools.lru_cache(maxsize=8)
def parse(name: str, data: bytes) -> Prompt:
    """Return the prompt in a file's bytes; `name` is its name, also in errors.

    The last few are remembered: each turn of a chain needs its prompt again, and parsing takes a tenth of a second.

    Raises: PromptError.
    """
    extendable = sorted({spelling for shipped in names() for spelling in _spellings(shipped)})
    content = content_of(name, data, TEMPLATES, extendable)
    if EXTENDS in content:
        content = _extended(content)
        data = _as_yaml(content)
    for key in _OF_THE_FIRST:
        content.setdefault(key, _shipped(_FIRST)[key])
    ask_fence = content.get(ASK_FENCE, ASK_TAG)
    if ask_fence in ((content[FENCE],) if FENCE in content else _TAGS_OF_THE_FIRST):
        raise PromptError(
            f"{name}: {FENCE!r} must differ from {ASK_FENCE!r}, or a command cannot be told from a question"
        )
    for key, text in _fallback().items():
        content.setdefault(key, text)
    return Prompt(
        name,
        hashlib.sha256(data).hexdigest(),
        compiled(content, TEMPLATES),
        data,
        fence=content.get(FENCE),
        ask_fence=ask_fence,
        shown_characters=content.get(SHOWN_CHARACTERS),
        variables=content.get(VARIABLES, {}),
    )


def load_judging(name: str) -> Prompt:
    """Return the prompt of a kind of model judge (`judging/NAME.yaml`, with the keys of `JUDGING`).

    Raises: PromptError.
    """
    path = _FOLDER / "judging" / f"{name}.yaml"
    data = path.read_bytes()
    content = content_of(str(path), data, JUDGING, ())
    return Prompt(name, hashlib.sha256(data).hexdigest(), compiled(content, JUDGING), data)


def load_role(name: str) -> Prompt:
    """Return the prompt of a role beside a trial (`roles/NAME.yaml`, with the keys that `ROLES` has for it).

    Raises: PromptError.
    """
    return parse_role(name, (_FOLDER / "roles" / f"{name}.yaml").read_bytes())


def parse_role(name: str, data: bytes) -> Prompt:
    """Return the prompt of a role in a file's bytes, as a record keeps it.

    Raises: PromptError.
    """
    content = content_of(name, data, ROLES[name], ())
    return Prompt(name, hashlib.sha256(data).hexdigest(), compiled(content, ROLES[name]), data)


def _extended(content: dict[str, Any]) -> dict[str, Any]:
    """Return the complete content of a prompt that extends another."""
    own = dict(content)
    shipped, instruction = _shipped(own.pop(EXTENDS)), own.pop(INSTRUCTION, None)
    whole = {**shipped, **own}
    if instruction is not None:
        whole["task"] = whole["task"].replace("{{ instruction }}", instruction)
    return whole


def _as_yaml(content: dict[str, Any]) -> bytes:
    """Return a complete prompt as YAML: texts as blocks, then the settings that are not texts."""
    texts = {key: value for key, value in content.items() if isinstance(value, str)}
    others = {key: value for key, value in content.items() if key not in texts}
    written = yaml.safe_dump(texts, sort_keys=False, allow_unicode=True, default_style="|", width=1000)
    return (written + (yaml.safe_dump(others, sort_keys=False, allow_unicode=True) if others else "")).encode()


@functools.cache
def _fallback() -> dict[str, str]:
    """Return the texts of keys that came after prompts of users and of records were written."""
    texts: dict[str, str] = {}
    for path in sorted((_FOLDER / "fallback").glob("*.yaml")):
        texts.update(yaml.safe_load(path.read_bytes()))
    return texts


def _shipped_name(name: str) -> str | None:
    """Return the name of a shipped prompt's file; `default-2` may be the newest version, which is in `default.yaml`."""
    return next((shipped for shipped in names() if name in _spellings(shipped)), None)


def _spellings(shipped: str) -> tuple[str, str]:
    """Return the names of a shipped prompt: that of its file, and the one with its version."""
    return shipped, _with_version(shipped)


def _with_version(shipped: str) -> str:
    """Return the name of a shipped prompt with its version: one more than the number of earlier ones."""
    earlier = sum(name.rpartition("-")[0] == shipped and name.rpartition("-")[2].isdigit() for name in names())
    return f"{shipped}-{earlier + 1}" if earlier else shipped


def _shipped(name: str) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((_FOLDER / f"{_shipped_name(name)}.yaml").read_bytes())
    return _extended(content) if EXTENDS in content else content
