"""Tables as single benchmarks print them: LongCLI-Bench's four, CLI-Tool-Bench's one."""

from __future__ import annotations

from collections.abc import Sequence

from scoring.families import clitool, longcli
from scoring.output.cells import Cell, Table, table
from scoring.report import Report


def modes(report: Report) -> Table:
    return table(
        "modes",
        "Modes of collaboration (LongCLI-Bench, Table 4)",
        """
        model text model
        harness text harness
        mode text mode
        tasks count tasks
        attempts count attempts
        pass_rate share passed
        f2p_step share F2P step
        minutes number minutes
        interventions number interventions
        """,
        [
            (
                one.model,
                one.harness,
                it.mode,
                it.tasks,
                it.attempts,
                it.pass_rate,
                it.f2p_step,
                it.minutes,
                it.interventions,
            )
            for one in report.modes
            for it in (one.mode,)
        ],
    )


def longcli_attempts(report: Report) -> Table:
    buckets = [*(name for _, name in longcli.BUCKETS), longcli.FULL]
    columns = """
        configuration text configuration
        tasks count tasks
        attempts count attempts
        pass_rate share pass@1
        pass_at_3 share pass@3
        pass_at_3_paper share pass@3 (paper)
        f2p_pass share F2P
        p2p_pass share P2P
        f2p_step share F2P step
        p2p_step share P2P step
        minutes number minutes
        """ + "\n".join(f"f2p_step_{number} count F2P step {name}" for number, name in enumerate(buckets))
    return table(
        "longcli",
        "LongCLI-Bench, first turns (Tables 1 and 2)",
        columns,
        [
            (
                one.label,
                it.tasks,
                it.attempts,
                it.pass_rate,
                it.pass_at_3,
                it.pass_at_3_paper,
                it.f2p_pass,
                it.p2p_pass,
                it.f2p_step,
                it.p2p_step,
                it.minutes,
                *(one.f2p_steps[name] for name in buckets),
            )
            for one in report.longcli
            for it in (one.main,)
        ],
    )


def turns(report: Report) -> Table:
    rows: list[Sequence[Cell]] = []
    for one in report.longcli:
        if len(one.turns) > 1:
            rows += [
                (one.label, str(at.turn), at.tasks, at.attempts, at.pass_rate, at.f2p_pass, at.p2p_pass, at.step)
                for at in one.turns
            ]
            rows += [
                (one.label, f"{it.before} to {it.after}", None, None, it.pass_rate, None, None, it.step)
                for it in one.differences
            ]
    return table(
        "turns",
        "State after each turn of self-correction (LongCLI-Bench, Table 3)",
        """
        configuration text configuration
        turn text turn
        tasks count tasks
        attempts count attempts
        pass_rate share passed
        f2p_pass share F2P
        p2p_pass share P2P
        step share step
        """,
        rows,
    )


def suites(report: Report) -> Table:
    columns = "configuration text configuration\ngroup text repositories\n"
    for metric in clitool.METRICS:
        columns += f"{metric} share {metric.upper() if len(metric) == 2 else metric}\n"
        columns += (
            f"{metric}_low share low\n{metric}_high share high\n{metric}_n count n\n{metric}_missing count missing\n"
        )
    rows: list[Sequence[Cell]] = []
    for one in report.suites:
        for line in one.lines:
            figures = [line.figures[metric] for metric in clitool.METRICS]
            cells = [cell for it in figures for cell in (it.mean, it.low, it.high, it.repositories, it.missing)]
            rows.append((one.label, line.group, *cells))
    return table("suites", "CLI-Tool-Bench (90 % intervals, as its paper has them)", columns, rows)
