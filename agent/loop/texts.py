"""Renders the loop's texts from a prompt's templates. No other file knows the values that a template gets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

from agent.loop.actions import SUBMIT
from agent.loop.instructions import Say
from agent.loop.remaining import Remaining
from agent.models.protocol import ActionFormat, Fence
from prompts import Prompt
from trajectories.record.events import ActionFinished, FeedbackForm, Guidance, Limits
from trajectories.record.interventions import AnswerStatus
from trajectories.record.texts.text import FIRST_CUT, Cut, LeftOut

_BACKTICKS = re.compile("`+")


class PromptTexts:
    """Implements `Texts` with a prompt."""

    def __init__(self, prompt: Prompt) -> None:
        self._prompt = prompt
        limit = prompt.shown_characters or FIRST_CUT.limit
        self.cut = Cut(limit, self._left_out) if "cut" in prompt.templates else Cut(limit)
        """The rule for outputs that are too long."""

    @property
    def fence(self) -> Fence:
        """Return the rule for commands in texts that the prompt describes."""
        return Fence(self._prompt.fence)

    @property
    def ask_fence(self) -> str:
        """Return the tag of the block that asks the expert."""
        return self._prompt.ask_fence

    def opening(
        self,
        *,
        instruction: str,
        plan: str | None,
        guidance: Guidance | None = None,
        action_format: ActionFormat,
        workdir: str,
        user: str | None,
        network: bool,
        shell: str,
        limits: Limits,
    ) -> list[Say]:
        """Return the system message, the task and, if there are such, what tells of the expert, and the plan."""
        task = self._prompt.render(
            "task",
            instruction=instruction.strip(),
            action_format=action_format,
            workdir=workdir,
            user=user,
            network=network,
            shell=shell,
            shown_characters=self.cut.limit,
            submit=SUBMIT,
            fence=self._prompt.fence,
            **_told(limits),
        )
        messages = [Say("system", self._prompt.render("system"), "system"), Say("user", task, "task")]
        if guidance is not None:
            text = self._prompt.render(
                "guidance",
                questions=guidance.max,
                rule=guidance.rule,
                action_format=action_format,
                fence=self._prompt.ask_fence,
            )
            messages.append(Say("user", text, "guidance"))
        if plan is not None:
            messages.append(Say("user", self._prompt.render("plan", plan=plan), "plan"))
        return messages

    def observation(self, result: ActionFinished, remaining: Remaining, *, near_submit: bool) -> str:
        """See `Texts`."""
        return self._prompt.render(
            "observation",
            ended=result.ended,
            exit_code=result.exit_code,
            signal=result.signal,
            duration_s=result.duration_s,
            bytes=result.output.bytes,
            left_running=result.left_running,
            left_pids=result.left_pids,
            shell_lost=result.shell_lost,
            output=result.output.text,
            stderr=result.stderr.text if result.stderr else "",
            near_submit=near_submit,
            submit=SUBMIT,
            **_left(remaining),
        )

    def format_error(
        self, problem: str, action_format: ActionFormat, remaining: Remaining, *, near_submit: bool
    ) -> str:
        """See `Texts`."""
        fence = {"fence": self._prompt.fence} if action_format == "fenced" else {}
        return self._prompt.render(
            f"format_error_{action_format}",
            problem=problem,
            near_submit=near_submit,
            submit=SUBMIT,
            **fence,
            **_left(remaining),
        )

    def answer(self, status: AnswerStatus | Literal["none_left"], text: str, left: int) -> str:
        """See `Texts`."""
        return self._prompt.render("answer", status=status, text=text if status == "given" else "", left=left)

    def not_executed(self, why: Literal["submitted"]) -> str:
        """See `Texts`."""
        return self._prompt.render("not_executed", why=why)

    def resumed(self, lost: tuple[str, ...]) -> str:
        """Return the notice for a model whose trial continues after an interruption."""
        return self._prompt.render("resumed", lost=lost)

    @property
    def tells_limits_of_forks(self) -> bool:
        """Report if the notice of a fork tells its limits."""
        return "branched" in self._prompt.templates

    def branched(self, workdir: str | None, lost: Sequence[str], limits: Limits) -> str:
        """Return the notice for a model whose conversation began in another place; `workdir` if its path changed."""
        if self.tells_limits_of_forks:
            return self._prompt.render("branched", workdir=workdir, lost=lost, **_told(limits))
        moved = "" if workdir is None else f"The workspace is {workdir} now."
        gone = f"The files of the workspace are as they were; gone are: {'; '.join(lost)}." if lost else ""
        return " ".join(filter(None, (moved, gone)))

    def feedback(
        self,
        *,
        turn: int,
        turns: int,
        form: FeedbackForm,
        text: str,
        whole: str,
        files: Sequence[str],
        directory: str,
        passed: bool,
        lost: Sequence[str],
    ) -> str:
        """Return the message with the result of the turn before `turn`; its text is cut as an output is."""
        shown = self.cut.shown(text)
        return self._prompt.render(
            "feedback",
            turn=turn,
            turns=turns,
            form=form,
            text=shown,
            cut=shown != text,
            fence=_fence_around(shown),
            directory=directory,
            files=files,
            whole=whole,
            passed=passed,
            lost=lost,
        )

    def without_result(self) -> str:
        """Return the answer to a tool call of a parent whose result is not in its record."""
        return "No result: the command did not run to its end, or its output was not recorded."

    def _left_out(self, left_out: LeftOut) -> str:
        return self._prompt.render("cut", **asdict(left_out))


def _fence_around(text: str) -> str:
    """Return a fence that no line of the text can end."""
    return "`" * max(3, *(len(run) + 1 for run in _BACKTICKS.findall(text)), 3)


def _told(limits: Limits) -> dict[str, object]:
    """Return the limits that a model is told."""
    return {
        "command_s": limits.command_s,
        "steps": limits.steps,
        "time_s": limits.time_s,
        "tokens": limits.tokens,
        "cost_usd": limits.cost_usd,
    }


def _left(remaining: Remaining) -> dict[str, object]:
    return {
        "steps_left": remaining.steps,
        "seconds_left": remaining.seconds,
        "tokens_left": remaining.tokens,
        "cost_usd_left": remaining.cost_usd,
        "urgent": remaining.urgent,
    }
