"""What goes wrong in a world, and how often. A seed turns on a random part of it."""

from dataclasses import dataclass, field
from random import Random

FAULTS = (
    "worker crash",
    "worker cut off",
    "server crash",
    "machine crash",
    "crash around a commit",
    "repeated report",
    "lost answer",
    "store fails",
    "commit of unknown outcome",
    "slow store",
    "slow wire",
    "lying worker",
)
OPERATORS = ("pause", "cancel")


@dataclass(slots=True)
class Faults:
    """The faults of one world, and the dice that time them."""

    rng: Random
    on: frozenset[str] = frozenset()
    until: float = 0.0  # faults stop at this moment
    strikes: list[tuple[float, str]] = field(default_factory=list)  # what happens at which second
    seen: dict[str, int] = field(default_factory=dict)

    @property
    def calm(self) -> bool:
        """Whether nothing at all goes wrong."""
        return not self.on

    @classmethod
    def of(cls, seed: int, calm: bool) -> "Faults":
        """The faults of a seed; none when it is calm."""
        rng = Random(f"faults {seed}")
        if calm:
            return cls(rng)
        on = frozenset(fault for fault in FAULTS if rng.random() < 0.3) or frozenset({rng.choice(FAULTS)})
        faults = cls(rng, on, until=rng.choice((5.0, 20.0, 40.0)))
        for fault in FAULTS[:4]:
            if fault in on:
                faults.strikes += [(faults.moment(), fault) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.2:
            start = faults.moment()
            faults.strikes += [(start, "pause"), (start + rng.choice((0.1, 1.0, 10.0)), "resume")]
        if rng.random() < 0.07:
            faults.strikes.append((faults.moment(), "cancel"))
        faults.strikes.sort()
        return faults

    def moment(self) -> float:
        """Some time while faults go on, more often early."""
        return self.rng.random() ** 3 * self.until

    def strikes_now(self, fault: str, chance: float, now: float) -> bool:
        """Whether a fault happens here."""
        if fault not in self.on or now >= self.until or self.rng.random() >= chance:
            return False
        self.count(fault)
        return True

    def count(self, fault: str) -> None:
        """Note that something happened."""
        self.seen[fault] = self.seen.get(fault, 0) + 1

    def delay(self, fault: str, longest: float, now: float) -> float:
        """How long something takes: no time at all, unless it is slow."""
        if fault not in self.on or now >= self.until:
            return 0.0
        self.count(fault)
        return self.rng.random() ** 2 * longest
