"""Names of an instance: its id, with or without the commit; owner and repository; or the repository alone.

An id consists of the repository's name and the commit, so looking up a name only needs the list of directories.
"""

from __future__ import annotations

from benchmarks.programbench import instances
from benchmarks.task.task import Named


def named(word: str) -> Named:
    """Return the instances that a word means, in upper or lower case.

    `exactly`: the matches of the first of these forms that has any: id, id without the commit, owner/repository,
    repository. The package's fixture counts only if no listed instance matches. `perhaps`: ids that contain the word.
    """
    wanted = word.lower()
    names = {id: _names(id) for id in instances.ids(listed=False)}
    for place in range(4):
        matches = [id for id, forms in names.items() if forms[place] == wanted]
        listed = [id for id in matches if not id.startswith(instances.FIXTURE)]
        if matches:
            return Named(exactly=tuple(listed or matches))
    if not wanted or "/" in wanted:
        return Named()
    return Named(perhaps=tuple(id for id in instances.ids() if wanted in id.lower()))


def _names(id: str) -> tuple[str, str, str, str]:
    id = id.lower()
    stem = id.rpartition(".")[0] or id
    owner, _, repository = stem.partition("__")
    return id, stem, f"{owner}/{repository}", repository
