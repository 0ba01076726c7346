"""The order of a later stage of a task: another instruction, other limits, another solution."""

from __future__ import annotations

from dataclasses import replace

from agent.trial.order import Order


def order_at_stage(order: Order, number: int) -> Order:
    """Return the order of a stage, from that of another stage of the same task.

    Raises: TaskError if the stage has no solution and the model is the oracle.
    """
    from agent.loop.solution import oracle_limits, solution_of
    from agent.models.choose import ORACLE, make_model

    task, options = order.task.at_stage(number), order.options
    if options.model != ORACLE:
        return replace(order, task=task, limits=options.limits(task.limits))
    model = make_model(ORACLE, settings=options.model_settings, api_base=None, solution=solution_of(task))
    return replace(order, task=task, model=model, limits=options.limits(oracle_limits(task)))
