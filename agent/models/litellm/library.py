"""The import of litellm, and the settings that keep it from doing more than the translation of a call.

The import takes 2 s, so it happens late: while the environment starts, or at the first call.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import warnings
from types import ModuleType

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # otherwise its import downloads prices
    "LITELLM_MODE": "PRODUCTION",  # otherwise its import loads a .env file into our environment
    # the OpenAI SDK traverses the whole history at each call: 295 ms at 1,000 steps, 19 ms without it
    "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER": "True",
}

_importing = threading.Lock()


def load() -> ModuleType:
    """Import litellm once, and disable its own messages, retries and changes of parameters."""
    with _importing:
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        first = "litellm" not in sys.modules
        import litellm

        if first:
            gc.freeze()  # a full collection over its objects would take 0.24 s, at any moment of a trial
        for message in ("Pydantic serializer warnings", ".*`ReadOnly` qualifier"):
            warnings.filterwarnings("ignore", message, UserWarning)
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        litellm.drop_params = False
        litellm.modify_params = False
        litellm.num_retries = None
        for handler in ("verbose_logger", "verbose_proxy_logger", "verbose_router_logger"):
            with contextlib.suppress(ImportError, AttributeError):
                getattr(__import__("litellm._logging", fromlist=[handler]), handler).disabled = True
        return litellm


def disable_callbacks() -> None:
    """Disable the logging after this thread's call: it traverses the history, 10 ms or more at 1,000 steps."""
    with contextlib.suppress(ImportError, AttributeError):
        from litellm._internal_context import is_internal_call

        is_internal_call.set(True)
