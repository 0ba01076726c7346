"""Mistakes that show when combinations of a grid are resolved: each is reported once, at the key that brings it.

The same problem often shows for many combinations: that of a model for all tasks and arms. Its key is the one whose
entry all these combinations share, and which has other entries without the problem.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from agent.batch.grid.options import Combination
from agent.batch.spec.spec import Spec
from agent.errors import MachineError
from trajectories.yaml_mistakes import Mistake, Place

_KEYS = {
    "--model-setting": "model_settings",
    "--guidance-setting": "guidance_settings",
    "--guidance-rule": "guidance_rule",
    "--max-interventions": "max_interventions",
    "--guidance": "guidance",
    "--plan-rule": "plan_rule",
    "--plan": "plan",
    "--self-correct-until": "until",
    "--self-correct": "self_correct",
    "--feedback": "feedback",
    "--conversation": "conversation",
    "--reveal-tests": "reveal_tests",
    "--variant": "variants",
    "--shell": "shell",
    "--prompt": "prompt",
    "--prices": "prices",
    "--env": "env",
    "--step-limit": "limits.steps",
    "--time-limit": "limits.time",
    "--token-limit": "limits.tokens",
    "--cost-limit": "limits.cost_usd",
    "--command-timeout": "limits.command",
}
"""Keys of a spec for options of `agent solve`, in whose words the resolution speaks."""
_OPTION = re.compile("|".join(rf"{re.escape(option)}(?![a-z-])" for option in _KEYS))


def in_words_of_a_spec(reason: str) -> str:
    """Return a reason with the keys of a spec in place of options."""
    reason = reason.replace("choose --cost-limit none and", "leave it out and")
    return _OPTION.sub(lambda match: _KEYS[match[0]], reason)


class Problems:
    """The problems of the combinations of one grid."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self.tasks = 0
        """Number of tasks of the grid."""
        self.only_of_machine = True
        """True if this machine or the network is all that is wrong."""
        self._at: dict[tuple[Place, str], None] = {}
        self._of: dict[str, list[Combination]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._at or self._of)

    def at(self, place: Place, reason: str) -> None:
        """Take in a problem whose key is known."""
        self.only_of_machine = False
        self._at.setdefault((place, reason))

    def of(self, error: Exception, combination: Combination) -> None:
        """Take in a problem of a combination, in the words of `agent solve`."""
        self.only_of_machine &= isinstance(error, MachineError)
        self._of[in_words_of_a_spec(str(error))].append(combination)

    def equal(self, first: Combination, second: Combination) -> None:
        """Take in two combinations with equal configurations."""
        if first.arm is not second.arm and first.model is second.model:
            place, pair = second.arm.place, f"the arms {first.arm.name} and {second.arm.name}"
        elif first.model is not second.model and first.arm is second.arm:
            place, pair = second.model.place, f"the models {first.model.name} and {second.model.name}"
        elif first.origin is not second.origin and first.arm is second.arm:
            place = second.origin.entry.place
            pair = f"{first.origin} and {second.origin}"
        else:
            place, pair = second.arm.place, f"({first}) and ({second})"
        self.only_of_machine = False
        self._at.setdefault((place, f"{pair} give the same trials; leave one out, or change its options"))

    def mistakes(self) -> Iterator[Mistake]:
        """Yield the mistakes, each once."""
        for place, reason in self._at:
            yield Mistake(place, reason)
        for reason, combinations in self._of.items():
            yield Mistake(self._place(reason, combinations), self._with_tasks(reason, combinations))

    def _place(self, reason: str, combinations: list[Combination]) -> Place:
        """Return the place of what all combinations with a problem share."""
        arms = {each.arm.name for each in combinations}
        models = {each.model.place for each in combinations}
        tasks = {each.origin.entry.place for each in combinations}
        arm = combinations[0].arm
        named = _named_keys(reason)
        own = [key for key in named if key in arm.options]
        if len(arms) == 1 and (own or len(self._spec.arms) > 1):
            return (*arm.place, own[0]) if own else arm.place
        if len(models) == 1 and len(self._spec.models) > 1:
            return next(iter(models))
        if len(tasks) == 1 and (len(self._spec.tasks) > 1 or self._spec.branches is not None):
            return next(iter(tasks))
        in_spec = [key for key in named if key.partition(".")[0] in self._spec.content]
        if in_spec:
            return tuple(in_spec[0].split("."))
        return combinations[0].model.place if len(models) == 1 else arm.place

    def _with_tasks(self, reason: str, combinations: list[Combination]) -> str:
        """Return the reason with the tasks that it concerns, if it names none and it is not of all."""
        names = list(dict.fromkeys(each.origin.last_part for each in combinations))
        if len(names) == self.tasks or any(name in reason for name in names):
            return reason
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        return f"{reason} ({shown})"


def _named_keys(reason: str) -> list[str]:
    """Return the keys of a spec that a reason names, in its order."""
    matches = {key: re.search(rf"(?<![\w.]){re.escape(key)}(?!\w)", reason) for key in _KEYS.values()}
    return [key for _, key in sorted((match.start(), key) for key, match in matches.items() if match)]
