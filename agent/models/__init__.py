"""What answers the loop: providers through litellm, scripts, recordings, people, a task's own solution, nothing.

`choose.make_model` makes any of them from what the user typed; `protocol` is what they have in common.
A model knows no environment, no task and no record on disk (`replay` reads one). Imported by `agent`
only. Names below are loaded when first used, because their modules are slow to different degrees.
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
