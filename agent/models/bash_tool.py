"""The `bash` tool: its name, its argument and its schema, in the form of either OpenAI protocol.

The schema is a constant, because a changed byte would invalidate every provider's prompt cache.
"""

from __future__ import annotations

from trajectories.record.events import Json

BASH = "bash"
COMMAND = "command"

_DESCRIPTION = "Run a bash script in the task's environment. The result is what it printed and its exit code."
_PARAMETERS: Json = {
    "type": "object",
    "properties": {COMMAND: {"type": "string", "description": "The script to run."}},
    "required": [COMMAND],
}

CHAT_TOOL: Json = {
    "type": "function",
    "function": {"name": BASH, "description": _DESCRIPTION, "parameters": _PARAMETERS},
}
RESPONSES_TOOL: Json = {"type": "function", "name": BASH, "description": _DESCRIPTION, "parameters": _PARAMETERS}
