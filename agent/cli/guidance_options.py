"""Options about the expert whom a model may ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agent.cli import completion
from agent.cli.intervention_options import INTERVENTIONS
from agent.errors import UserError

if TYPE_CHECKING:
    from agent.trial.options import GuidanceChanges


def guidance_option(default: str) -> Any:
    """Return `--guidance` with the default of a command."""
    return typer.Option(
        metavar="EXPERT",
        help=f"Expert whom the model may ask: human (you), file:PATH with answers in order, or a model [{default}].",
        autocompletion=completion.experts,
        rich_help_panel=INTERVENTIONS,
    )


MaxInterventionsOption = Annotated[
    int | None,
    typer.Option(
        min=1, metavar="N", help="Number of questions that the expert answers [3].", rich_help_panel=INTERVENTIONS
    ),
]

GuidanceRuleOption = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Rule that answers must keep: no-code or none [no-code].",
        autocompletion=completion.code_rules,
        rich_help_panel=INTERVENTIONS,
    ),
]

GuidanceSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Setting of the model that answers, as --model-setting; repeatable.",
        rich_help_panel=INTERVENTIONS,
    ),
]

GuidanceApiBaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Endpoint of the model that answers [the provider's].",
        rich_help_panel=INTERVENTIONS,
    ),
]


@dataclass(frozen=True)
class GuidanceOptions:
    """The options about the expert, as they were typed."""

    guidance: str | None
    max_interventions: int | None
    rule: str | None
    settings: Sequence[str] | None
    api_base: str | None

    def changes(self) -> GuidanceChanges:
        """Return the options that are set.

        Raises: UserError.
        """
        from agent.cli.settings import code_rule, model_settings

        changes: GuidanceChanges = {}
        if self.guidance is not None:
            if not self.guidance.strip() or self.guidance == "file:":
                raise UserError(f"--guidance {self.guidance!r}: name human, file:PATH or a model")
            changes["guidance"] = self.guidance
        if self.max_interventions is not None:
            changes["max_interventions"] = self.max_interventions
        if self.rule is not None:
            changes["guidance_rule"] = code_rule(self.rule, "--guidance-rule")
        if self.settings:
            changes["guidance_settings"] = model_settings(self.settings, "--guidance-setting")
        if self.api_base is not None:
            changes["guidance_api_base"] = self.api_base
        return changes

    def changes_of_fork(self) -> GuidanceChanges:
        """Return the options of a fork, whose expert is the parent's unless `--guidance` names one, or `none`.

        Raises: UserError.
        """
        changes = self.changes()
        if self.guidance is None:
            return changes
        nothing: GuidanceChanges = {
            "max_interventions": None,
            "guidance_rule": None,
            "guidance_settings": {},
            "guidance_api_base": None,
        }
        changes = {**nothing, **changes}
        if self.guidance == "none":
            changes["guidance"] = None
        return changes
