"""The choice of a model by the value of `--model`: a free model of ours, an alias or a litellm name.

The module of a model is imported only when that model is chosen; litellm and prompt_toolkit are never imported here.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.models.protocol import Model, ModelUnusable
from agent.trial.sources import USER_FILES, Sources

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
"""Models that cost nothing, by the value of `--model`."""


def make_model(
    typed: str,
    *,
    settings: Mapping[str, object],
    api_base: str | None,
    solution: Solution | None = None,
    may_ask: bool = False,
    sources: Sources = USER_FILES,
) -> Model:
    """Return the model that `--model` names, not yet checked.

    `solution` is that of the task; only `oracle` needs it. With `may_ask` the model can ask an expert. `sources` hold
    short names and scripts.

    Raises: ModelUnusable: one line with the name and the way out.
    """
    if typed.startswith((SCRIPT, REPLAY)) or typed in (HUMAN, ORACLE, NOP):
        return _free_model(typed, settings, api_base, solution, may_ask, sources)
    from agent.models import catalog
    from agent.models.litellm.model import LiteLLMModel

    aliases = sources.aliases()
    if typed in aliases:
        alias = aliases[typed]
        return LiteLLMModel(typed, alias.name, {**alias.settings, **settings}, api_base, may_ask=may_ask)
    if "/" not in typed and not api_base and catalog.table() and catalog.row_of(typed) is None:
        similar = difflib.get_close_matches(typed, [*aliases, HUMAN, ORACLE, NOP], 2, 0.6)
        similar += catalog.near_names(typed)
        hint = f"; similar names: {', '.join(similar)}" if similar else ""
        raise ModelUnusable(
            f"unknown model {typed!r}: write an alias (`agent models list`), PROVIDER/MODEL, "
            f"{', '.join(list(FREE_MODELS)[:-1])} or {NOP}{hint}"
        )
    return LiteLLMModel(typed, typed, settings, api_base, may_ask=may_ask)


def _free_model(
    typed: str,
    settings: Mapping[str, object],
    api_base: str | None,
    solution: Solution | None,
    may_ask: bool,
    sources: Sources,
) -> Model:
    if settings:
        raise ModelUnusable(f"--model-setting {next(iter(settings))} does not apply to --model {typed}; leave it out")
    if api_base:
        raise ModelUnusable(f"--api-base does not apply to --model {typed}; leave it out")
    if typed == HUMAN:
        from agent.models.free.human import HumanModel

        return HumanModel(may_ask=may_ask)
    if typed == NOP:
        from agent.models.free.nop import NopModel

        return NopModel()
    if typed == ORACLE:
        from agent.models.free.oracle import OracleModel

        if solution is None:
            raise ModelUnusable(f"--model {ORACLE} needs a task: it applies the task's own solution")
        return OracleModel(solution)
    kind, _, path = typed.partition(":")
    if not path:
        raise ModelUnusable(f"--model {typed} needs a path: {SCRIPT}FILE or {REPLAY}TRIAL")
    if kind == "script":
        from agent.models.free.script import ScriptModel

        try:
            data = sources.script(Path(path))
        except OSError as error:
            raise ModelUnusable(f"cannot read {path}: {error.strerror}") from None
        return ScriptModel(data, path, typed)
    from agent.models.free.replay import ReplayModel

    return ReplayModel(Path(path), typed)
