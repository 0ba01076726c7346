"""Options about interventions in a trial: plans, self-correction and guidance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.cli import completion

INTERVENTIONS = "Interventions"
"""Heading of these options in the help."""

PlanOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Plan that the model is given: a file, or plans/NAME of agent plan [none].",
        autocompletion=completion.plans,
        rich_help_panel=INTERVENTIONS,
    ),
]

PlanRuleOption = Annotated[
    str | None,
    typer.Option(
        metavar="RULE",
        help="Rule that the plan must keep: none or no-code [none; for a plan of agent plan, the rule of its record].",
        autocompletion=completion.code_rules,
        rich_help_panel=INTERVENTIONS,
    ),
]
