"""Writes the documentation as a folder of files for any web server, or none: the same pages as at /docs.

python deploy/site.py FOLDER
"""

import argparse
import shutil
from pathlib import Path

from noetl import __version__, documentation
from noetl.server.manual.addresses import InFolder
from noetl.server.manual.site import HERE, OWN_FILES, SEARCH, Site


def build(folder: Path) -> list[Path]:
    """Every page, as HTML and as Markdown, and every file; what was in the folder before goes."""
    root = documentation.folder()
    assert root is not None
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(InFolder(), __version__)
    texts = {SEARCH: site.search()}
    for name in documentation.sources():
        texts[f"{name}.html"] = site.page(name)
        texts[f"{name}.md"] = documentation.read(name)
    files = {name: (HERE / name).read_bytes() for name in OWN_FILES}
    files |= {name: (root / "docs" / name).read_bytes() for name in documentation.files()}
    files |= {name: text.encode() for name, text in texts.items()}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return [folder / name for name in sorted(files)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    size = sum(file.stat().st_size for file in build(folder))
    print(f"site: {len(documentation.sources())} pages, {size:,} bytes; open {folder}/index.html")


if __name__ == "__main__":
    main()
