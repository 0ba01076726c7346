"""Places for evaluations: at most so many at once on one machine, in the order in which units asked. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class _Machine:
    running: set[str] = field(default_factory=set)
    waiting: list[str] = field(default_factory=list)


@dataclass
class Evaluations:
    """The evaluations of a batch."""

    most: int
    """Largest number at once on one machine."""
    _machines: dict[str, _Machine] = field(default_factory=dict)

    def ask(self, machine: str, unit: str) -> list[str]:
        """Take in a unit that asks; return the units that may begin now."""
        self._machines.setdefault(machine, _Machine()).waiting.append(unit)
        return self._begin(machine)

    def end(self, machine: str, unit: str) -> list[str]:
        """Drop a unit, whether it waits or runs; return the units that may begin now."""
        of_machine = self._machines.setdefault(machine, _Machine())
        of_machine.running.discard(unit)
        of_machine.waiting = [waiting for waiting in of_machine.waiting if waiting != unit]
        return self._begin(machine)

    def _begin(self, machine: str) -> list[str]:
        of_machine = self._machines[machine]
        begun = []
        while of_machine.waiting and len(of_machine.running) < self.most:
            unit = of_machine.waiting.pop(0)
            of_machine.running.add(unit)
            begun.append(unit)
        return begun
