"""The model `human`: a person types the commands, as a baseline for other models.

Each message since the person's last turn is shown, then a command is asked for: with line editing and history if the
input is a terminal, line by line otherwise. Everything is printed to standard error, because standard output is for
results.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent.config import config_dir
from agent.loop.actions import SUBMIT
from agent.models.free.bash_syntax import is_complete
from agent.models.free.costs import FREE, asking, completion
from agent.models.free.editor import edit
from agent.models.free.model import FreeModel
from agent.models.protocol import AssistantTurn, CallFailure, Completion, ModelInfo, ModelUnusable, Request
from trajectories.record.events import Message, ModelRef
from trajectories.record.texts.text import printable, storable

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.key_binding.key_processor import KeyPressEvent

HISTORY = "human-history"
HELP = """\
Type a bash command; it runs when it is complete. Every command has its own shell. Special commands:
  :submit   submit the finished work
  :edit     write a script in $VISUAL or $EDITOR
  :help     show this help
  :quit     give up (also Ctrl-D)
"""
HELP_TO_ASK = "  :ask QUESTION  ask the expert\n"
HELP_TO_INTERRUPT = "Ctrl-C interrupts the trial."


class HumanModel(FreeModel):
    """A model that asks the person at standard input."""

    def __init__(self, *, may_ask: bool = False) -> None:
        self._may_ask = may_ask
        self.info = ModelInfo(ModelRef(asked="human", name="human"), "tool", free=FREE)
        self._shown = 0
        self._prompt: _Terminal | _Lines | None = None

    def check(self) -> None:
        """Check that there is a standard input.

        Raises: ModelUnusable.
        """
        if sys.stdin is None or sys.stdin.closed:
            raise ModelUnusable("--model human needs a standard input to type commands into")

    def warm_up(self) -> None:
        """Import the line editor."""
        with contextlib.suppress(Exception):
            if sys.stdin.isatty():
                import prompt_toolkit  # noqa: F401

    def ask(self, request: Request) -> Completion:
        """Show new messages and wait for a command; the request's time-out does not apply to a person.

        Raises: CallFailure: `gave_up`. KeyboardInterrupt.
        """
        self._show(request.history)
        typed = storable(self._command(request.step))
        if self._may_ask and (question := _question(typed)):
            return asking(question, request, "human")
        return completion(typed, request, "human")

    def _show(self, history: Sequence[Message | AssistantTurn]) -> None:
        first = self._shown == 0
        turns = [index for index, entry in enumerate(history) if isinstance(entry, AssistantTurn)]
        for index, entry in enumerate(history):
            if index < self._shown or not isinstance(entry, Message) or entry.role == "system":
                continue
            if first and turns and turns[0] < index < turns[-1]:
                continue  # a resumed trial: the task and the newest observation are enough
            _print(printable(entry.content).rstrip("\n"))
        if first and turns:
            _print(f"(continuing after {len(turns)} earlier steps)")
        if first:
            _print("(:help shows what you can type; :submit ends the work)")
        self._shown = len(history)

    def _command(self, step: int) -> str:
        if self._prompt is None:
            self._prompt = _Terminal() if sys.stdin.isatty() else _Lines()
        while True:
            try:
                typed = self._prompt.read(f"[{step}] $ ")
            except EOFError:
                raise CallFailure("gave_up", "the person gave up") from None
            match typed.strip():
                case "":
                    continue
                case ":help":
                    _print(HELP + (HELP_TO_ASK if self._may_ask else "") + HELP_TO_INTERRUPT)
                case ":ask" if self._may_ask:
                    _print(HELP_TO_ASK.rstrip("\n"))
                case ":submit":
                    return SUBMIT
                case ":quit":
                    raise CallFailure("gave_up", "the person gave up")
                case ":edit":
                    if edited := edit(file="command.sh"):
                        _print(printable(edited).rstrip("\n"))
                        return edited
                case _:
                    return typed


class _Lines:
    """Input by plain lines, for a standard input that is a file or a pipe."""

    def read(self, prompt: str) -> str:
        """Read lines up to the end of a complete command.

        Raises: EOFError.
        """
        typed = ""
        while True:
            line = sys.stdin.readline()
            typed += line
            if not line and not typed.strip():
                raise EOFError
            if not line or _is_complete(typed):
                return typed.removesuffix("\n")


class _Terminal:
    """Input with line editing and history; Enter ends a complete command and continues an incomplete one."""

    def __init__(self) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.filters import is_done
        from prompt_toolkit.history import FileHistory, History, InMemoryHistory
        from prompt_toolkit.key_binding import KeyBindings
        from prompt_toolkit.output import create_output

        history: History = InMemoryHistory()
        with contextlib.suppress(OSError):
            folder = config_dir()
            folder.mkdir(parents=True, exist_ok=True)
            (folder / HISTORY).touch(mode=0o600)
            history = FileHistory(folder / HISTORY)
        keys = KeyBindings()

        @keys.add("enter", filter=~is_done)
        def _enter(event: KeyPressEvent) -> None:
            buffer = event.current_buffer
            if _is_complete(buffer.text):
                buffer.validate_and_handle()
            else:
                buffer.insert_text("\n")

        self._session: PromptSession[str] = PromptSession(
            history=history,
            key_bindings=keys,
            multiline=True,
            prompt_continuation="> ",
            output=create_output(stdout=sys.stderr),
            enable_open_in_editor=False,
        )

    def read(self, prompt: str) -> str:
        """Read a command.

        Raises: EOFError; KeyboardInterrupt.
        """
        return self._session.prompt(prompt)


def _is_complete(typed: str) -> bool:
    """Report if a line of the person is whole: a question always is, whatever bash would make of it."""
    return bool(_question(typed)) or is_complete(typed)


def _question(typed: str) -> str:
    """Return the question of a line `:ask QUESTION`; empty for a command."""
    first, _, question = typed.strip().partition(" ")
    return question.strip() if first == ":ask" else ""


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
