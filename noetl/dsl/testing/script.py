"""Which answer a tool call gets: the first that fits and is not used up. Nothing is called here."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from noetl.dsl.testing.suite import Answer
from noetl.dsl.yaml.tree import plain
from noetl.json_value import Json

HELD = ("http", "pg", "py")
UNSAID = "as the test says"


@dataclass(frozen=True, slots=True)
class Place:
    """One call: whose it is, and where in its execution."""

    playbook: str  # its path
    step: str
    task: str
    run: int = 1
    iteration: tuple[int, ...] = ()
    visit: int = 1
    attempt: int = 1

    @property
    def name(self) -> str:
        """The task as test files name it."""
        return f"{self.step}.{self.task}"

    @property
    def words(self) -> str:
        """The call in words."""
        parts = [f"run {self.run}"] if self.run > 1 else []
        if self.iteration:
            parts.append(f"iteration {', '.join(map(str, self.iteration))}")
        if self.visit > 1:
            parts.append(f"visit {self.visit}")
        return f"{self.name} ({', '.join([*parts, f'attempt {self.attempt}'])})"


Given = Mapping[str, tuple[Answer, ...]]


@dataclass(slots=True)
class Script:
    """The answers of one test, and which of them are used up."""

    given: Given = field(default_factory=dict)
    children: Mapping[str, Given] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)

    def answer(self, place: Place, *, child: bool) -> Answer | None:
        """The answer to a call; a step's name alone answers those of its tasks that have no own answers."""
        given = self.children.get(place.playbook, {}) if child else self.given
        answers = given.get(place.name, given.get(place.step, ()))
        for answer in answers:
            if id(answer) not in self._used and _fits(answer, place):
                if not answer.repeat:
                    self._used.add(id(answer))
                return answer
        return None

    def unused(self) -> list[tuple[str, Answer]]:
        """Answers for one call each that no call came for, with the task they are for."""
        everything = [self.given, *self.children.values()]
        return [
            (task, answer)
            for given in everything
            for task, answers in given.items()
            for answer in answers
            if not answer.repeat and id(answer) not in self._used
        ]


def _fits(answer: Answer, place: Place) -> bool:
    node = answer.node
    iteration = node.get("iteration")
    if iteration is not None and place.iteration != tuple(
        iteration if isinstance(iteration, list) else [iteration]
    ):
        return False
    numbers = {"run": place.run, "visit": place.visit, "attempt": place.attempt}
    return all(node[key] == number for key, number in numbers.items() if key in node)


def output_of(answer: Answer) -> dict[str, Json]:
    """The envelope that an answer stands for."""
    node = answer.node
    output: dict[str, Json] = {"status": "ok", "data": plain(node.get("data"))}
    if "error" in node:
        given = plain(node["error"])
        defaults: dict[str, Json] = {"code": None, "message": UNSAID, "retryable": False, "details": {}}
        output |= {"status": "error", "error": {**defaults, **given}}
    return output | {key: plain(node[key]) for key in HELD if key in node}
