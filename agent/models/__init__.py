"""What answers the loop: providers through litellm, scripts, recordings, people, a task's own solution, nothing.

`choose.make_model` makes any of them from what the user typed; `protocol` is what they have in common.
A model knows no environment, no task and no record on disk (`replay` reads one). Imported by `agent`
only. Names below are loaded when first used, because their modules are slow to different degrees.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.models.aliases import Alias, load_aliases
    from agent.models.choose import make_model
    from agent.models.protocol import (
        ActionFormat,
        Answer,
        AssistantTurn,
        CallFailure,
        Model,
        ModelInfo,
        ModelUnusable,
        Request,
    )
    from agent.models.providers import key_is_set
    from agent.models.retries import RetryPolicy

_WHERE = {
    "ActionFormat": "protocol",
    "Alias": "aliases",
    "Answer": "protocol",
    "AssistantTurn": "protocol",
    "CallFailure": "protocol",
    "Model": "protocol",
    "ModelInfo": "protocol",
    "ModelUnusable": "protocol",
    "Request": "protocol",
    "RetryPolicy": "retries",
    "key_is_set": "providers",
    "load_aliases": "aliases",
    "make_model": "choose",
}

__all__ = [
    "ActionFormat",
    "Alias",
    "Answer",
    "AssistantTurn",
    "CallFailure",
    "Model",
    "ModelInfo",
    "ModelUnusable",
    "Request",
    "RetryPolicy",
    "key_is_set",
    "load_aliases",
    "make_model",
]


def __getattr__(name: str) -> object:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
