"""Choices that scoring offers, each defined once: for the report, for `agent score`, and for Python callers.

The values are plain words, and a word is accepted in place of its member. The module imports nothing else, so the
command line can show its help without loading the rest of `scoring`.
"""

from __future__ import annotations

from enum import StrEnum


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


class PlotFormat(StrEnum):
    """File formats of pictures."""

    PNG = "png"
    SVG = "svg"
