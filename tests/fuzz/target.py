"""Random bytes for the loader and the template checker: `make fuzz`. Whatever comes, nothing is raised.

Coverage of the language's own room leads the search; the examples and the rules' fixtures are where it begins.
"""

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["noetl.dsl"]):
    from noetl.dsl.load import load
    from noetl.dsl.templates.limits import TemplateError
    from noetl.dsl.templates.syntax import template_problems
    from noetl.dsl.templates.template import compile_template

from noetl.tools import kinds

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 4096  # bytes of one input; longer ones only repeat what short ones show
KINDS = kinds()


def examine(data: bytes) -> None:
    """One input, read as a playbook and as a template."""
    _check_playbook(data)
    _check_template(data.decode("utf-8", errors="replace"))


def _check_playbook(data: bytes) -> None:
    loaded = load(data, kinds=KINDS)
    places = [(finding.line, finding.column) for finding in loaded.diagnostics]
    assert places == sorted(places), "findings are in order"
    assert all(line >= 1 and column >= 1 for line, column in places), "places count from 1"
    assert loaded.ok or any(finding.severity == "error" for finding in loaded.diagnostics), (
        "refused with a reason"
    )


def _check_template(text: str) -> None:
    problems = template_problems(text)
    try:
        compile_template(text)
    except TemplateError:
        missed = not problems
    else:
        missed = False
    assert not missed, "what does not compile has a problem"


def _seeds(folder: Path) -> str:
    """A folder of documents to begin with."""
    documents = [*ROOT.glob("examples/*.yaml"), *ROOT.glob("tests/rules/*.yaml")]
    for document in documents:
        for number, part in enumerate(document.read_bytes().split(b"\n# ---")):
            (folder / f"{document.stem}_{number}").write_bytes(part[:LONGEST])
    return str(folder)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as corpus:
        found = f"-artifact_prefix={tempfile.gettempdir()}/noetl-fuzz-"  # a crash is written there, and its path shown
        atheris.Setup([*sys.argv, f"-max_len={LONGEST}", found, _seeds(Path(corpus))], examine)
        atheris.Fuzz()
