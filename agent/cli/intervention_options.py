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

SelfCorrectOption = Annotated[
    int | None,
    typer.Option(
        metavar="TURNS",
        help="Run a chain of so many turns, 2 or more: each is told the result of the one before and continues in its "
        "environment [one trial without feedback].",
        rich_help_panel=INTERVENTIONS,
    ),
]

FeedbackOption = Annotated[
    str | None,
    typer.Option(
        metavar="FORM",
        help="Feedback between turns: output (of the tests), failing (tests with their messages), scores, or paths (of "
        "logs) [the task's].",
        rich_help_panel=INTERVENTIONS,
    ),
]

ConversationOption = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Conversation of a later turn: fresh (a new one) or same (that of the turn before) [fresh].",
        rich_help_panel=INTERVENTIONS,
    ),
]

UntilOption = Annotated[
    str | None,
    typer.Option(
        "--self-correct-until",
        metavar="END",
        help="End of the chain: fixed (after all turns) or passed (also after a turn that passes) [fixed].",
        rich_help_panel=INTERVENTIONS,
    ),
]

RevealTestsOption = Annotated[
    bool,
    typer.Option(
        "--reveal-tests",
        help="Allow feedback that gives hidden tests away; such trials are left out of the benchmark's own tables.",
        rich_help_panel=INTERVENTIONS,
    ),
]
