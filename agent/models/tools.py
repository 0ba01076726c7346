"""The tools: `bash`, and `ask` in trials whose model may ask an expert. Their names, arguments and schemas.

The schemas are constants, in the form of either OpenAI protocol, because a changed byte would invalidate every
provider's prompt cache.
"""

from __future__ import annotations

from trajectories.record.events import Json

BASH, COMMAND = "bash", "command"
ASK, QUESTION = "ask", "question"


def _function(name: str, description: str, argument: str, meaning: str) -> Json:
    parameters: Json = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": meaning}},
        "required": [argument],
    }
    return {"name": name, "description": description, "parameters": parameters}


_BASH = _function(
    BASH,
    "Run a bash script in the task's environment. The result is what it printed and its exit code.",
    COMMAND,
    "The script to run.",
)
_ASK = _function(
    ASK,
    "Ask the expert for guidance. A reply that asks holds no other call. The result is the answer.",
    QUESTION,
    "The question to the expert.",
)


def chat_tools(*, may_ask: bool) -> list[Json]:
    """Return the tools in the form of chat completions."""
    return [{"type": "function", "function": tool} for tool in _tools(may_ask)]


def responses_tools(*, may_ask: bool) -> list[Json]:
    """Return the tools in the form of the Responses API."""
    return [{"type": "function", **tool} for tool in _tools(may_ask)]


def _tools(may_ask: bool) -> list[Json]:
    return [_BASH, _ASK] if may_ask else [_BASH]
