"""Models: providers through litellm, scripts, recordings, a person, a task's own solution, and one that only submits.

`choose.make_model` makes any of them from the value of `--model`; `protocol` is their common contract. A model knows
no environment, no task and no record on disk (only `replay` reads one). Only `agent` imports this package, and only
`litellm/` imports litellm. The names below are loaded at their first use, because some of their modules are slow.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from agent.models.aliases import Alias as Alias, load_aliases as load_aliases
    from agent.models.choose import make_model as make_model
    from agent.models.litellm.providers import key_is_set as key_is_set
    from agent.models.protocol import (
        ActionFormat as ActionFormat,
        AssistantTurn as AssistantTurn,
        CallFailure as CallFailure,
        Completion as Completion,
        Model as Model,
        ModelInfo as ModelInfo,
        ModelUnusable as ModelUnusable,
        Request as Request,
    )
    from agent.models.retries import RetryPolicy as RetryPolicy

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "aliases": ["Alias", "load_aliases"],
        "choose": ["make_model"],
        "litellm.providers": ["key_is_set"],
        "protocol": [
            "ActionFormat",
            "Completion",
            "AssistantTurn",
            "CallFailure",
            "Model",
            "ModelInfo",
            "ModelUnusable",
            "Request",
        ],
        "retries": ["RetryPolicy"],
    },
)
