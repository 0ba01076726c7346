"""Choices that scoring offers, each defined once: for the report, for `agent score`, and for Python callers.

The values are plain words, and a word is accepted in place of its member. The module imports nothing else, so the
command line can show its help without loading the rest of `scoring`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal, get_args

Tier = Literal["easy", "medium", "hard"]
"""Tiers of difficulty of a task, the easiest first."""
TIERS: tuple[Tier, ...] = get_args(Tier)


class CostKind(StrEnum):
    """Costs of a trial, one of which becomes its `cost_usd`."""

    COMPUTED = "computed"
    """Computed from the price snapshot, with cache discounts."""
    BILLED = "billed"
    """Reported by the provider."""
    LIST = "list"
    """Computed from the price snapshot, without cache discounts."""
    AGENTMETER = "agentmeter"
    """AgentMeter's equation 2."""


class InfrastructureRule(StrEnum):
    """Treatment of a trial that the infrastructure ended."""

    EXCLUDE = "exclude"
    COUNT = "count"
    """It failed, with quality 0 and its cost."""


class DuplicateRule(StrEnum):
    """Treatment of two trials with the same identity, attempt and turn."""

    REFUSE = "refuse"
    LATEST = "latest"
    """Only the one that finished last counts."""
    ALL = "all"
    """Each counts as a trial of its own."""


class AttemptRule(StrEnum):
    """Trials of a task that count in AMS, tiers and headlines."""

    LATEST = "latest"
    """The one that was completed last."""
    ALL = "all"
    """The mean over all of them."""


class UnreadableRule(StrEnum):
    """Treatment of a trial of a batch whose record cannot be read. A trial that was named itself is always an error."""

    REFUSE = "refuse"
    EXCLUDE = "exclude"


class IntegrityRule(StrEnum):
    """Treatment of trials that are flagged for a violation of the benchmark's rules."""

    SHOW = "show"
    """Their scores stay as they are, and a column has their number."""
    EXCLUDE = "exclude"
    """They are left out of all tables, with their costs."""
    ZERO = "zero"
    """They failed with quality 0, at their cost."""


class IntegrityBy(StrEnum):
    """Evidence that flags a trial. Without a choice it is the panel if it decided, otherwise the rules, and in any case
    a test system that was tampered with."""

    PANEL = "panel"
    """More than half of a panel's judges see any violation."""
    RULES = "rules"
    """A rule with a sure finding that succeeded, or a test system that was tampered with."""
    ANY = "any"
    """Any of these."""


class PlotFormat(StrEnum):
    """File formats of pictures."""

    PNG = "png"
    SVG = "svg"
