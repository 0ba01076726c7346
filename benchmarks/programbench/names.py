"""What a user may call an instance: its id, with or without the commit; owner and repository; the repository alone.

Ids are made of the repository's name and the commit, so names need no file but the listing of directories.
"""

from __future__ import annotations

from benchmarks.programbench import instances
from benchmarks.task.task import Named


def named(word: str) -> Named:
    """The instances that a word means, upper and lower case being the same.

    `exactly`: those of the first of these that any has: id, id without the commit, owner/repository, repository. The
    package's fixture is meant only where no listed instance is. `perhaps`: ids with the word in them.
    """
    wanted = word.lower()
    names = {id: _names(id) for id in instances.ids(listed=False)}
    for place in range(4):
        found = [id for id, own in names.items() if own[place] == wanted]
        listed = [id for id in found if not id.startswith(instances.FIXTURE)]
        if found:
            return Named(exactly=tuple(listed or found))
    if not wanted or "/" in wanted:
        return Named()
    return Named(perhaps=tuple(id for id in instances.ids() if wanted in id.lower()))


def _names(id: str) -> tuple[str, str, str, str]:
    id = id.lower()
    stem = id.rpartition(".")[0] or id
    owner, _, repository = stem.partition("__")
    return id, stem, f"{owner}/{repository}", repository
