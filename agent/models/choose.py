"""From what the user typed after `--model` to the model: script, replay, human, alias or litellm name.

Imports each kind only when it is chosen; never litellm or prompt_toolkit.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

from agent.models.protocol import Model, ModelUnusable

SCRIPT, REPLAY, HUMAN = "script:", "replay:", "human"


def make_model(asked: str, *, settings: Mapping[str, object], api_base: str | None) -> Model:
    """The model, not yet checked.

    Raises: ModelUnusable: one line with what was asked for and the way out.
    """
    if asked.startswith((SCRIPT, REPLAY)) or asked == HUMAN:
        return _local(asked, settings, api_base)
    from agent.models import catalogue
    from agent.models.aliases import load_aliases
    from agent.models.litellm import LiteLLMModel

    known = load_aliases()
    if asked in known:
        alias = known[asked]
        return LiteLLMModel(asked, alias.name, {**alias.settings, **settings}, api_base)
    if "/" not in asked and not api_base and catalogue.table() and catalogue.row_of(asked) is None:
        near = [*difflib.get_close_matches(asked, [*known, HUMAN], 2, 0.6), *catalogue.near_names(asked)]
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise ModelUnusable(
            f"unknown model {asked!r}: write an alias (`agent models list`), PROVIDER/MODEL, "
            f"{SCRIPT}FILE, {REPLAY}TRIAL or {HUMAN}{hint}"
        )
    return LiteLLMModel(asked, asked, settings, api_base)


def _local(asked: str, settings: Mapping[str, object], api_base: str | None) -> Model:
    if settings:
        raise ModelUnusable(f"--model-setting {next(iter(settings))} means nothing to --model {asked}; leave it out")
    if api_base:
        raise ModelUnusable(f"--api-base means nothing to --model {asked}; leave it out")
    if asked == HUMAN:
        from agent.models.human import HumanModel

        return HumanModel()
    kind, _, path = asked.partition(":")
    if not path:
        raise ModelUnusable(f"--model {asked} needs a path: {SCRIPT}FILE or {REPLAY}TRIAL")
    if kind == "script":
        from agent.models.script import ScriptModel

        return ScriptModel(Path(path), asked)
    from agent.models.replay import ReplayModel

    return ReplayModel(Path(path), asked)
