"""One measured number, and whether it meets its goal. No measuring and no printing here."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value beside the goal it has to meet."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    better: Literal["lower", "higher"] = "lower"
    floor: float | None = None
    """The best any program could reach on this machine, measured in the same run."""
    ratio_goal: float | None = None
    """How many times the floor the value may be."""

    @property
    def ratio(self) -> float | None:
        """The value as a multiple of the floor: this travels between machines, the value does not."""
        return self.value / self.floor if self.floor else None

    @property
    def meets_goal(self) -> bool:
        """Whether value and ratio are on the right side of their goals; without a goal they always are."""
        if self.ratio is not None and self.ratio_goal is not None and self.ratio > self.ratio_goal:
            return False
        if self.goal is None:
            return True
        return self.value <= self.goal if self.better == "lower" else self.value >= self.goal
