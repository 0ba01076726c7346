"""The interventions in a trial, as a row holds them: its chain, its expert, its plan, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scoring.choices import CostKind
from trajectories.reading.summary import Summary
from trajectories.record.interventions import Chain, ChainResult
from trajectories.record.usage import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class InterventionFacts:
    """Interventions in one trial. None is unknown, or there is no such intervention."""

    chain_first: str | None = None
    """Id of turn 1 of the chain that the trial is a turn of."""
    turns: int | None = None
    """Number of turns that the chain may have."""
    feedback: str | None = None
    """Form of the feedback between turns."""
    conversation: str | None = None
    """Conversation of later turns, `fresh` or `same`."""
    until: str | None = None
    """End of the chain, `fixed` or `passed`."""
    chain_result: ChainResult | None = None
    """Result of the stages of a task together. None if the turns are rounds with feedback."""
    ends_chain: bool | None = None
    """True if no turn follows this one. None outside of a chain, and without a verdict."""
    tests_revealed: bool = False
    """True if the feedback may show more of hidden tests than the benchmark allows."""
    guidance_by: str | None = None
    """Model that answers questions, `human` or `file`."""
    max_interventions: int | None = None
    """Number of questions that are answered."""
    questions: int | None = None
    """Number of questions; None without an expert."""
    given: int | None = None
    """Number of interventions: answers of the expert that the model got; None without an expert."""
    refusals: int | None = None
    """Number of answers of the expert that broke the rule; None without an expert."""
    expert_costs: Costs | None = None
    """Costs of the expert's calls, as recorded. They are never part of the trial's own costs."""
    expert_usd: float | None = None
    """The expert's cost of the kind that tables use; None if it is unknown, or there was no expert."""
    plan_by: str | None = None
    """Model that wrote the plan, `person` or `file`. None without a plan, and for a plan of an older record."""
    plan_record: str | None = None
    """Record of the calls that made the plan. All trials with this plan share it."""
    plan_sha256: str | None = None
    """Hash of the plan's text."""
    plan_costs: Costs | None = None
    """Costs of making the plan, as recorded."""
    plan_usd: float | None = None
    """The plan's cost of the kind that tables use."""


NONE = InterventionFacts()


def facts_of(summary: Summary, kind: CostKind) -> InterventionFacts:
    """Return the interventions in a trial, with costs of this kind."""
    policy, expert = summary.entry.policy, summary.interventions
    if policy is None:
        return NONE
    chain, plan, guidance = policy.chain, policy.plan, policy.guidance
    facts = InterventionFacts(
        chain_first=chain.first if chain else None,
        turns=chain.turns if chain else None,
        feedback=chain.feedback if chain else None,
        conversation=chain.conversation if chain else None,
        until=chain.until if chain else None,
        chain_result=chain.result if chain else None,
        ends_chain=_ends(summary, chain) if chain else None,
        tests_revealed=policy.tests_revealed,
        guidance_by=(guidance.model.name if guidance.model else guidance.by) if guidance else None,
        max_interventions=guidance.max if guidance else None,
        questions=expert.questions if expert else None,
        given=expert.given if expert else None,
        refusals=expert.refused if expert else None,
        expert_costs=expert.cost_usd if expert else None,
        plan_by=(plan.model.name if plan.model else plan.author) if plan else None,
        plan_record=plan.record if plan else None,
        plan_sha256=plan.sha256 if plan else None,
        plan_costs=plan.costs if plan else None,
    )
    return facts_with_cost(facts, kind)


def _ends(summary: Summary, chain: Chain) -> bool | None:
    verdict = summary.verdict
    if verdict is None or verdict.status != "scored":
        return None
    return not chain.goes_on_after(summary.entry.turn or 1, passed=verdict.passed, metrics=verdict.metrics)


def facts_with_cost(facts: InterventionFacts, kind: CostKind) -> InterventionFacts:
    """Return the same facts with costs of this kind as `expert_usd` and `plan_usd`."""
    if facts.expert_costs is None and facts.plan_costs is None:
        return facts
    expert, plan = facts.expert_costs, facts.plan_costs
    return replace(
        facts,
        expert_usd=cost_of_kind(expert, kind) if expert else None,
        plan_usd=cost_of_kind(plan, kind) if plan else None,
    )


def cost_of_kind(costs: Costs, kind: CostKind) -> float | None:
    """Return the recorded cost of this kind. A record has none by AgentMeter's equation."""
    match kind:
        case CostKind.COMPUTED:
            return costs.computed
        case CostKind.BILLED:
            return costs.billed
        case CostKind.LIST:
            return costs.list
        case CostKind.AGENTMETER:
            return None
