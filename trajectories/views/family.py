"""Terminal view of a family of forks."""

from __future__ import annotations

from rich.text import Text
from rich.tree import Tree

from trajectories.reading.family import Member
from trajectories.reading.runs import listed
from trajectories.record.texts.text import printable, quantity

_MOST = 200
"""Largest number of trials that are shown."""
_DEEP = 100
"""Largest depth that is shown."""


def family_tree(root: Member, shown: Member) -> Tree:
    """Return the tree of forks below an ancestor; the trial `shown` is emphasized."""
    tree = Tree(_label(root, shown))
    todo = [(root, tree, 0)]
    count, seen = 1, {id(root)}
    while todo:
        member, branch, depth = todo.pop()
        for child in sorted(member.children, key=lambda fork: (fork.step or 0, fork.name)):
            if id(child) in seen:
                continue
            seen.add(id(child))
            count += 1
            if count > _MOST or depth > _DEEP:
                branch.add(Text("..."))
                return tree
            todo.append((child, branch.add(_label(child, shown)), depth + 1))
    return tree


def _label(member: Member, shown: Member) -> Text:
    text = Text(printable(member.name), "bold" if member is shown else "")
    if member.step is not None:
        text = Text(f"at step {member.step}: ", "dim") + text
    if member.directory is None:
        return text + Text(" (not found)", "dim")
    summary = listed(member.directory).summary
    if summary is None:
        return text + Text(" (unreadable)", "red")
    ended = summary.exit.cause if summary.exit else "not closed"
    return text + Text(printable(f"   {summary.model}, {quantity(summary.steps, 'step')}, {ended}"), "dim")
