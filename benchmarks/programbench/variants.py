"""What an instance is told to do, and the ablations of it: other words, another network, the same tests."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.task.task import Task, TaskError

LANGUAGES = {"c": "C", "cpp": "C++", "go": "Go", "hs": "Haskell", "java": "Java", "rs": "Rust"}
"""The data's words for a language, and people's."""
INTERNET = "internet"
OTHER_LANGUAGE = "other-language"


def language_name(word: str) -> str:
    """What people call a language of the data."""
    return LANGUAGES.get(word, word.capitalize())


def variants_of(language: str) -> dict[str, str]:
    """The ablations of an instance whose reference is in this language, with what each changes."""
    return {
        INTERNET: "the network is on; looking up the program's source stays forbidden",
        OTHER_LANGUAGE: f"the program must be written in another language than {language_name(language)}",
    }


def instruction(repository: str, language: str, variants: tuple[str, ...] = ()) -> str:
    """What an instance's task begins with; all else is in the prompt `programbench`."""
    program = repository.rpartition("/")[2]
    text = (
        f"Write the program `{program}` anew: find out from its documentation and by running it what it does, and "
        "write a program of your own that does exactly the same."
    )
    if OTHER_LANGUAGE not in variants:
        return f"{text} The programming language is yours to choose."
    name = language_name(language)
    return (
        f"{text}\n\nThe original is written in {name}. Yours must be written in another programming language: no part "
        f"of it may be in {name}, but for what `compile.sh` itself needs."
    )


def vary(task: Task, variants: tuple[str, ...]) -> Task:
    """The task with these ablations.

    Raises: TaskError for one that it does not have.
    """
    for name in variants:
        if name not in task.variants:
            raise TaskError(f"{task.id} has no variant {name!r}; there is {' and '.join(sorted(task.variants))}")
    if not variants:
        return task
    chosen = tuple(sorted(set(variants)))
    return replace(
        task,
        instruction=instruction(task.facts["repository"], task.language, chosen),
        spec=replace(task.spec, network=INTERNET in chosen),
        variant="+".join(chosen),
    )
