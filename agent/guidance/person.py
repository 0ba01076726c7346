"""A person as an expert, who is asked in the terminal.

Everything is printed to standard error, because standard output is for results. Texts of the agent are made printable
first: a question may hold escape sequences.
"""

from __future__ import annotations

import sys

from agent.errors import UserError
from agent.guidance.experts import MOST_TRIES, Advice, Consultation, TextExpert
from agent.guidance.material import Seen, last_seen
from agent.models.free.editor import edit
from trajectories.record.texts.text import cut_middle, printable

_SHOWN = 3
"""Number of the last commands that are shown at once."""
_RESULT_CHARACTERS = 800
"""Longest result that is shown whole at once."""
HELP = """\
Type the answer; Enter sends it to the agent. Special lines:
  :edit     write the answer in $VISUAL or $EDITOR
  :more     show the last 20 commands of the agent with their whole results
  :nobody   tell the agent that no one is available (also Ctrl-D)
  :help     show this help
Ctrl-C interrupts the trial; agent resume asks you again."""


class Person(TextExpert):
    """Implements `Expert` with the person at the terminal."""

    def check(self) -> None:
        """See `Expert`.

        Raises: UserError without a terminal.
        """
        if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)):
            raise UserError(
                "--guidance human needs a terminal, because the agent's questions are put to you there; use "
                "file:PATH or a model instead"
            )

    def answer(self, consultation: Consultation) -> Advice:
        """See `Expert`."""
        asked = consultation.asked
        own = [answer for question, answer in consultation.answers if question.question == asked.question]
        if own:
            _print(
                f"\nYour answer was not passed on: this line breaks the rule ({own[-1].broken}):\n"
                f"  {printable(own[-1].line or '')}\n"
                f"Describe in words what it does. This is try {len(own) + 1} of {MOST_TRIES}."
            )
        else:
            self._show(consultation)
        from prompt_toolkit import PromptSession
        from prompt_toolkit.output import create_output

        session: PromptSession[str] = PromptSession(
            output=create_output(stdout=sys.stderr), enable_open_in_editor=False
        )
        while True:
            try:
                typed = session.prompt("answer> ")
            except EOFError:
                return Advice()
            match typed.strip():
                case "":
                    continue
                case ":help":
                    _print(HELP)
                case ":more":
                    _print_seen(last_seen(consultation.turns), None)
                case ":nobody":
                    return Advice()
                case ":edit":
                    if text := edit(file="answer.md"):
                        _print(printable(text))
                        return Advice(text)
                case _:
                    return Advice(typed)

    def _show(self, consultation: Consultation) -> None:
        asked = consultation.asked
        _print(f"\n--- The agent asks you (step {asked.step}, question {asked.question}) ---")
        _print_seen(last_seen(consultation.turns, _SHOWN), _RESULT_CHARACTERS)
        _print("\nQuestion:")
        _print("\n".join(f"  {line}" for line in printable(asked.text).splitlines()))
        rule = " Write no code: describe the next steps." if self.guidance.rule == "no-code" else ""
        _print(f"\nQuestions left after this one: {asked.left - 1}.{rule} (:help shows what you can type)")


def _print_seen(seen: list[Seen], most: int | None) -> None:
    for entry in seen:
        result = entry.result if most is None else cut_middle(entry.result, most)
        _print(f"\n$ {printable(entry.command)}\n{printable(result).rstrip()}")


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
