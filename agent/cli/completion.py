"""Completion of words on the command line: the values that an argument or an option can have.

Each function returns the values that begin with the text that was typed. Nothing returned means that the shell
completes the name of a file. Modules are imported when their values are needed. A mistake in one of the user's files
is not reported here, because the shell would print it into the line that is being typed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import typer

_EVENTS = ("events.jsonl", "events.jsonl.zst")
_PLANS = "plans"
_SCRIPTS = (".yaml", ".yml", ".json")


def complete(run: Callable[[], object]) -> None:
    """Answer the completion of a shell by running the application, and exit silently whatever happens.

    Raises: SystemExit.
    """
    if os.environ["_AGENT_COMPLETE"] == "complete_bash":
        run = _for_bash(run)
    try:
        run()
    except Exception:
        sys.exit(1)


def tasks(incomplete: str) -> list[str]:
    """Return the tasks whose id begins with a text, also without the benchmark's name."""
    from agent.config import datasets as registered
    from benchmarks.task.registry import ids, names

    folders = {name: folder for name, folder in registered().items() if folder.is_dir()}
    tasks = [(name, id) for name in names(folders) for id in ids(name, folders)]
    return [f"{name}/{id}" for name, id in tasks if f"{name}/{id}".startswith(incomplete)] or [
        id for _, id in tasks if id.startswith(incomplete)
    ]


def benchmarks(incomplete: str) -> list[str]:
    """Return the benchmarks that have named tasks, and the datasets."""
    from agent.config import datasets as registered
    from benchmarks.task.registry import names

    return [name for name in names(registered()) if name.startswith(incomplete)]


def datasets(incomplete: str) -> list[str]:
    """Return the registered datasets."""
    from agent.config import datasets as registered

    return [name for name in registered() if name.startswith(incomplete)]


def models(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return aliases, the models that cost nothing, and scripts and trials in the usual places."""
    from agent.models.aliases import load_aliases
    from agent.models.choose import HUMAN, NOP, ORACLE, REPLAY, SCRIPT

    values = [*load_aliases(), HUMAN, ORACLE, NOP]
    values += [SCRIPT + name for name in sorted(os.listdir()) if name.endswith(_SCRIPTS)]
    values += [REPLAY + str(trial) for trial in _trials(_runs(ctx), "")]
    return [value for value in values if value.startswith(incomplete)]


def aliases(incomplete: str) -> list[str]:
    """Return the aliases of models."""
    from agent.models.aliases import load_aliases

    return [alias for alias in load_aliases() if alias.startswith(incomplete)]


def experts(incomplete: str) -> list[str]:
    """Return the experts who can answer an agent, with the aliases of models."""
    return [name for name in ("human", "file:") if name.startswith(incomplete)] + aliases(incomplete)


def code_rules(incomplete: str) -> list[str]:
    """Return the rules for the texts of plans and answers."""
    return [rule for rule in ("no-code", "none") if rule.startswith(incomplete)]


def trials(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of trials, and nothing for a path."""
    return [trial.name for trial in _trials(_runs(ctx), incomplete)]


def plans(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the records of plans as `plans/NAME`, and nothing for another beginning, which is that of a file."""
    if not incomplete.startswith("p"):
        return []
    names = sorted(f"{_PLANS}/{folder.name}" for folder in _folders(_runs(ctx) / _PLANS))
    return [name for name in names if name.startswith(incomplete)]


def records(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of trials and the records of plans."""
    return trials(ctx, incomplete) + plans(ctx, incomplete)


def kinds(incomplete: str) -> list[str]:
    """Return the kinds of environment."""
    from environments.kinds import KINDS

    return [kind for kind in KINDS if kind.startswith(incomplete)]


def shells(incomplete: str) -> list[str]:
    """Return the ways to use a shell for the commands."""
    from environments.kinds import SHELLS

    return [shell for shell in SHELLS if shell.startswith(incomplete)]


def prompts(incomplete: str) -> list[str]:
    """Return the names of the shipped prompts."""
    from prompts.loader import names

    return [name for name in names() if name.startswith(incomplete)]


def prices(incomplete: str) -> list[str]:
    """Return the names of the price tables."""
    from agent.reports.price_tables import list_tables

    return [table.name for table in list_tables() if table.name.startswith(incomplete)]


def _runs(ctx: typer.Context) -> Path:
    from agent.config import runs_dir

    typed = ctx.params.get("runs")
    return runs_dir(None if typed is None else Path(typed))


def _trials(runs: Path, beginning: str) -> Iterator[Path]:
    """Yield the trials below `runs` whose id begins with a text; those of other names are not looked into."""
    for batch in _folders(runs):
        if batch.name == _PLANS:
            continue
        for trial in _folders(batch):
            if trial.name.startswith(beginning) and any((trial / events).is_file() for events in _EVENTS):
                yield trial


def _folders(folder: Path) -> list[Path]:
    try:
        return [folder / entry.name for entry in os.scandir(folder) if entry.is_dir()]
    except OSError:
        return []


def _for_bash(run: Callable[[], object]) -> Callable[[], object]:
    """Return an answer for bash, which cuts a word at `:` and `=`: it replaces only the part behind the last of them.

    The words are joined again, and what stands before the last colon is cut off the answers. (The part before `=`
    does not come back from typer.)
    """
    words = os.environ.get("COMP_WORDS", "").split("\n")
    position = int(os.environ.get("COMP_CWORD", "0"))
    joined: list[str] = []
    cursor, kept, after_mark = 0, "", False
    for number, word in enumerate(words):
        is_mark = word != "" and not word.strip(":=")
        if joined and (is_mark or after_mark):
            joined[-1] += word
        else:
            joined.append(word)
        after_mark = is_mark
        if number == position:
            cursor = len(joined) - 1
            kept = joined[-1] if is_mark else joined[-1].removesuffix(word)
    os.environ["COMP_WORDS"], os.environ["COMP_CWORD"] = "\n".join(joined), str(cursor)

    def answer() -> None:
        try:
            with redirect_stdout(StringIO()) as printed:
                run()
        finally:
            for line in printed.getvalue().splitlines():
                print(line.removeprefix(kept.rpartition("=")[2]))

    return answer
