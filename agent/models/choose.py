"""From what the user typed after `--model` to the model: one of ours that costs nothing, an alias or a litellm name.

Imports each kind only when it is chosen; never litellm or prompt_toolkit.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.models.protocol import Model, ModelUnusable

if TYPE_CHECKING:
    from agent.models.free.oracle import Solution

SCRIPT, REPLAY, HUMAN, ORACLE, NOP = "script:", "replay:", "human", "oracle", "nop"
FREE_MODELS = {
    f"{SCRIPT}FILE": "the turns of a YAML or JSON file",
    f"{REPLAY}TRIAL": "the replies of a recorded trial",
    HUMAN: "you, at the keyboard",
    ORACLE: "the task's own solution, where it has one",
    NOP: "submits at once",
}
"""What else than a provider's model may answer, by how it is written."""


def make_model(
    asked: str,
    *,
    settings: Mapping[str, object],
    api_base: str | None,
    solution: Callable[[], Solution] | None = None,
) -> Model:
    """The model, not yet checked. `solution` gives the solution of the task at hand; only `oracle` asks for it.

    Raises: ModelUnusable: one line with what was asked for and the way out; what `solution` raises.
    """
    if asked.startswith((SCRIPT, REPLAY)) or asked in (HUMAN, ORACLE, NOP):
        return _local(asked, settings, api_base, solution)
    from agent.models import catalog
    from agent.models.aliases import load_aliases
    from agent.models.litellm.model import LiteLLMModel

    known = load_aliases()
    if asked in known:
        alias = known[asked]
        return LiteLLMModel(asked, alias.name, {**alias.settings, **settings}, api_base)
    if "/" not in asked and not api_base and catalog.table() and catalog.row_of(asked) is None:
        near = [*difflib.get_close_matches(asked, [*known, HUMAN, ORACLE, NOP], 2, 0.6), *catalog.near_names(asked)]
        hint = f"; near names: {', '.join(near)}" if near else ""
        raise ModelUnusable(
            f"unknown model {asked!r}: write an alias (`agent models list`), PROVIDER/MODEL, "
            f"{', '.join(list(FREE_MODELS)[:-1])} or {NOP}{hint}"
        )
    return LiteLLMModel(asked, asked, settings, api_base)


def _local(
    asked: str, settings: Mapping[str, object], api_base: str | None, solution: Callable[[], Solution] | None
) -> Model:
    if settings:
        raise ModelUnusable(f"--model-setting {next(iter(settings))} means nothing to --model {asked}; leave it out")
    if api_base:
        raise ModelUnusable(f"--api-base means nothing to --model {asked}; leave it out")
    if asked == HUMAN:
        from agent.models.free.human import HumanModel

        return HumanModel()
    if asked == NOP:
        from agent.models.free.nop import NopModel

        return NopModel()
    if asked == ORACLE:
        from agent.models.free.oracle import OracleModel

        if solution is None:
            raise ModelUnusable(f"--model {ORACLE} brings a task's own solution, and there is no task here")
        return OracleModel(solution())
    kind, _, path = asked.partition(":")
    if not path:
        raise ModelUnusable(f"--model {asked} needs a path: {SCRIPT}FILE or {REPLAY}TRIAL")
    if kind == "script":
        from agent.models.free.script import ScriptModel

        return ScriptModel(Path(path), asked)
    from agent.models.free.replay import ReplayModel

    return ReplayModel(Path(path), asked)
