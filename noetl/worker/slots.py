"""How many orders a worker runs at once. A pipeline that waits gives its slot to other work."""

from collections.abc import Callable


class Slots:
    """Counts what is busy, and says when there is room again."""

    def __init__(self, limit: int, on_room: Callable[[], None]) -> None:
        self.limit, self.busy, self._on_room = limit, 0, on_room

    @property
    def room(self) -> bool:
        """Whether another order can begin."""
        return self.busy < self.limit

    def take(self) -> None:
        """Something begins, or goes on after waiting."""
        self.busy += 1

    def give(self) -> None:
        """Something ended or waits."""
        self.busy -= 1
        self._on_room()
