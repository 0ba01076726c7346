"""The instruction of an instance, and its ablations: another instruction or network, but the same tests."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.task.task import Task, TaskError

LANGUAGES = {"c": "C", "cpp": "C++", "go": "Go", "hs": "Haskell", "java": "Java", "rs": "Rust"}
"""Names of languages, by the word that the data uses."""
INTERNET = "internet"
OTHER_LANGUAGE = "other-language"


def language_name(word: str) -> str:
    """Return the name of a language of the data."""
    return LANGUAGES.get(word, word.capitalize())


def variants_of(language: str) -> dict[str, str]:
    """Return the ablations of an instance whose original is in this language, each with the change it makes."""
    return {
        INTERNET: "the network is on; looking up the program's source stays forbidden",
        OTHER_LANGUAGE: f"the program must be written in another language than {language_name(language)}",
    }


def instruction(language: str, variants: tuple[str, ...] = ()) -> str:
    """Return the beginning of an instance's task; everything else is in the prompt `programbench`.

    It does not name the program, as that of the reference runner does not: a name makes it easier to write the program
    from memory, and to look for its source.
    """
    text = (
        "A compiled program and its documentation are given. Write the program anew: find out from the documentation "
        "and by running the program what it does, and write a program of your own that does exactly the same."
    )
    if OTHER_LANGUAGE not in variants:
        return f"{text} The programming language is yours to choose."
    name = language_name(language)
    return (
        f"{text}\n\nThe original is written in {name}. Yours must be written in another programming language: no part "
        f"of it may be in {name}, but for what `compile.sh` itself needs."
    )


def with_variants(task: Task, variants: tuple[str, ...]) -> Task:
    """Return the task with these ablations.

    Raises: TaskError for an unknown one.
    """
    for name in variants:
        if name not in task.variants:
            raise TaskError(
                f"{task.id} has no variant {name!r}; the variants are {' and '.join(sorted(task.variants))}"
            )
    if not variants:
        return task
    chosen = tuple(sorted(set(variants)))
    return replace(
        task,
        instruction=instruction(task.language, chosen),
        spec=replace(task.spec, network=INTERNET in chosen),
        variant="+".join(chosen),
    )
