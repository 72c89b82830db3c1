"""One checked text: what was loaded and every finding, with the look-ups that printing needs."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noetl.cli.playbooks.sources import Source
from noetl.dsl.diagnostic import Diagnostic

if TYPE_CHECKING:
    from noetl.dsl.load import Loaded

LINE_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # what YAML counts as a line break


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A text, what it means and what is wrong with it."""

    source: Source
    loaded: "Loaded"

    @property
    def name(self) -> str:
        """The name the text is reported under."""
        return self.source.name

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        return self.loaded.diagnostics

    @property
    def valid(self) -> bool:
        """Whether nothing stands in the way of running it."""
        return not any(finding.severity == "error" for finding in self.diagnostics)

    def lines(self) -> list[str]:
        text = self.source.data.decode("utf-8-sig", errors="replace")
        return LINE_BREAK.split(text)


def check(source: Source, *, strict: bool = False) -> CheckResult:
    """Load one text against the installed tool kinds."""
    from noetl.dsl.load import load
    from noetl.wiring.tool_kinds import kinds

    with _without_gc():
        loaded = load(source.data, kinds=kinds(), strict=strict)
    return CheckResult(source, loaded)


def with_findings(source: Source, diagnostics: Iterable[Diagnostic]) -> CheckResult:
    """A text of which nothing is known but what is wrong with it."""
    from noetl.dsl.load import Loaded

    return CheckResult(source, Loaded(None, None, None, tuple(diagnostics), {}))


@contextmanager
def _without_gc() -> Iterator[None]:
    """Loading makes many objects and no garbage; looking for some would take a third of the time."""
    import gc

    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def tally(results: Iterable[CheckResult]) -> Counter[str]:
    return Counter(finding.severity for result in results for finding in result.diagnostics)


def findings(results: Sequence[CheckResult]) -> Iterator[tuple[CheckResult, Diagnostic]]:
    for result in results:
        for finding in result.diagnostics:
            yield result, finding
