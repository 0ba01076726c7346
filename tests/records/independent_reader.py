"""Steps, tokens and costs of a trial, by docs/reference/record.md alone: nothing of Retrace is imported.

Usage: python independent_reader.py TRIAL ...
"""

import json
import sys
from decimal import Decimal
from pathlib import Path

import zstandard

BUCKETS = ("input", "cache_read", "cache_write_5m", "cache_write_1h", "output", "reasoning")
KINDS = ("billed", "computed", "list")
MAYBE_BILLED = ("timeout", "connection", "malformed", "interrupted")


def events(trial):
    """Yield the events of a trial; costs are exact decimal numbers."""
    plain, packed = Path(trial, "events.jsonl"), Path(trial, "events.jsonl.zst")
    data = plain.read_bytes() if plain.exists() else zstandard.ZstdDecompressor().decompress(packed.read_bytes())
    for line in data.split(b"\n")[:-1]:  # what follows the last newline was cut off
        yield json.loads(line, parse_float=Decimal)


def figures(trial):
    """Return the steps, commands, failed calls, tokens and costs of a trial."""
    first, counts, calls, open_calls = None, {}, [], set()
    for event in events(trial):
        first = first or event
        kind, thread = event["type"], event.get("thread")
        counts[kind] = counts.get(kind, 0) + 1
        if kind == "call_started":
            if thread in open_calls:
                calls.append((None, None))
            open_calls.add(thread)
        elif kind in ("call_finished", "call_failed"):
            open_calls.discard(thread)
            usage, costs = event.get("usage"), event.get("costs")
            if kind == "call_finished" or usage or costs or event["error"] in MAYBE_BILLED:
                calls.append((usage, costs))
    calls += [(None, None)] * len(open_calls)
    usage, costs = totals(calls)
    if costs["billed"] is None and first.get("imported"):
        costs["billed"] = first["imported"].get("billed_usd")
    return {
        "steps": counts.get("call_finished", 0),
        "commands": counts.get("action_started", 0),
        "failed_calls": counts.get("call_failed", 0),
        "unmetered_calls": sum(usage is None for usage, _ in calls),
        "usage": usage,
        "cost_usd": costs,
    }


def totals(calls):
    """Return the tokens and costs of calls, given as pairs of usage and costs."""
    tokens = {bucket: [(usage or {}).get(bucket) for usage, _ in calls] for bucket in BUCKETS}
    prices = {kind: [(costs or {}).get(kind) for _, costs in calls] for kind in KINDS}
    known = {bucket: [count for count in each if count is not None] for bucket, each in tokens.items()}
    usage = {bucket: sum(each) if each else None for bucket, each in known.items()}
    return usage, {kind: None if None in each else sum(each, Decimal(0)) for kind, each in prices.items()}


def interventions(trial):
    """Return the questions to a trial's expert, its answers and refusals, and the tokens and costs of its calls.

    None without an expert.
    """
    first, questions, answers, calls = None, set(), [], {}
    for event in events(trial):
        first = first or event
        match event["type"]:
            case "question":
                questions.add(event["question"])
            case "answer":
                answers.append(event["status"])
            case "role_call_started" if event["role"] == "expert":
                calls[event["call"]] = (None, None)
            case "role_call_finished" if event["call"] in calls:
                usage, costs = event.get("usage"), event.get("costs")
                calls[event["call"]] = (usage, costs)
                if event["status"] == "failed" and not (usage or costs or event.get("error") in MAYBE_BILLED):
                    del calls[event["call"]]
    if not first.get("guidance"):
        return None
    usage, costs = totals(list(calls.values()))
    return {
        "questions": len(questions),
        "given": answers.count("given"),
        "refused": answers.count("refused") + answers.count("replaced"),
        "usage": usage,
        "cost_usd": costs,
    }


if __name__ == "__main__":
    print(json.dumps([figures(trial) for trial in sys.argv[1:]], default=str))
