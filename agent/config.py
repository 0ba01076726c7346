"""Where the user's own files are, and the defaults they set.

`config.yaml` holds defaults of `agent solve` by the long names of its options.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from agent.errors import UserError

CONFIGURABLE = (
    "model",
    "env",
    "prompt",
    "step-limit",
    "time-limit",
    "cost-limit",
    "token-limit",
    "command-timeout",
    "api-base",
    "runs",
    "platform",
)


def config_dir() -> Path:
    """`$RETRACE_CONFIG_DIR`, else `$XDG_CONFIG_HOME/retrace`, else `~/.config/retrace`."""
    own = os.environ.get("RETRACE_CONFIG_DIR")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "retrace"


def config_path() -> Path:
    """The file with the user's defaults; it need not exist."""
    return config_dir() / "config.yaml"


@cache
def defaults() -> Mapping[str, Any]:
    """The user's defaults, empty without a file.

    Raises: UserError naming the file and the key.
    """
    path = config_path()
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({error})") from None
    import yaml

    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from None
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise UserError(f"{path}: must be a mapping of option names to values")
    for key in content:
        if key not in CONFIGURABLE:
            raise UserError(f"{path}: unknown key {key!r}; keys are {', '.join(CONFIGURABLE)}")
    return content
