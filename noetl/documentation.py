"""The documentation by the names of its pages, as `how-to/install`, from a checkout or an installed package.

A page is Markdown with the links of the repository. What it looks like is decided elsewhere.
"""

from functools import cache
from pathlib import Path, PurePosixPath

from noetl.dsl.nearest import did_you_mean
from noetl.errors import NotFound

PACKAGE = Path(__file__).parent
INDEX = "index"
SOURCES = ("docs/**/*.md", "examples/*.yaml", "examples/api.py")
LANGUAGES = {".yaml": "yaml", ".py": "python"}


@cache
def folder() -> Path | None:
    """Where the files lie as they do in the repository; None in a package that was built without them."""
    checkout = PACKAGE.parent
    if (PACKAGE / "manual").is_dir():
        return PACKAGE / "manual"
    return (
        checkout if all((checkout / name).is_file() for name in ("pyproject.toml", "docs/index.md")) else None
    )


@cache
def sources() -> dict[str, str]:
    """The name of each page with its file, as that is called in the repository."""
    root = folder()
    files = [] if root is None else [file for pattern in SOURCES for file in sorted(root.glob(pattern))]
    paths = [file.relative_to(root).as_posix() for file in files if root is not None]
    return {name_of(path): path for path in paths}


@cache
def files() -> frozenset[str]:
    """The pictures and the like that pages show, as they are called below docs/."""
    root = folder()
    found = [] if root is None else [file for file in (root / "docs").rglob("*") if file.is_file()]
    return frozenset(
        file.relative_to(root / "docs").as_posix()
        for file in found
        if root is not None and file.suffix != ".md"
    )


def name_of(source: str) -> str:
    """The name of the page that a file is; the first page of a folder is called as the folder."""
    path = PurePosixPath(source)
    place = path.relative_to("docs") if path.parts[0] == "docs" else path
    if place.stem in ("README", "index") and len(place.parts) > 1:
        return place.parent.as_posix()
    return place.with_suffix("").as_posix()


def read(name: str) -> str:
    """The Markdown of a page; an example is a page that shows its file. Raises NotFound."""
    root, source = folder(), sources().get(name)
    if root is None:
        raise NotFound("this package was built without its documentation", hint="build it with: make dist")
    if source is None:
        hint = did_you_mean(name[:200], sources(), "the page 'index' names the others")
        raise NotFound(f"there is no page {name[:200]!r} in the documentation", hint=hint)
    text = (root / source).read_text(encoding="utf-8")
    language = LANGUAGES.get(PurePosixPath(source).suffix)
    return text if language is None else f"# {PurePosixPath(source).name}\n\n```{language}\n{text}```\n"


def title(markdown: str) -> str:
    """What a page calls itself: its first heading."""
    return next((line[2:].strip() for line in markdown.splitlines() if line.startswith("# ")), "")
