"""`noetl register`, also `noetl catalog register`: keep playbooks in the catalog under their paths."""

import click

from noetl.cli import options
from noetl.cli.command_classes import Command
from noetl.cli.connection.caller import caller
from noetl.cli.playbooks.playbook_text import file_of, text_of
from noetl.cli.playbooks.sources import find, is_test, read
from noetl.cli.terminal import emit, indented_json


@click.command("register", cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path())
@options.server
@options.as_json
async def command(files: tuple[str, ...], as_json: bool) -> int:
    """Register playbooks under their metadata.path; a changed text becomes the next version.

    FILE is a playbook, a folder of them, a glob pattern or `-`. When one has errors, none is registered.
    Tests of playbooks are left out.
    """
    from noetl.cli.connection.connection import connect
    from noetl.cli.playbooks.bundle import bundle_files
    from noetl.cli.playbooks.validation import check
    from noetl.cli.running.watches import print_findings

    sources = [read(name) for name in find(files) if not is_test(name)]
    wrong = [source for source in sources if not check(source).valid]
    for source in wrong:
        print_findings(source)
    if wrong:
        return 1
    done: list[dict[str, str | int]] = []
    async with connect(make=True) as connection:
        for source in sources:
            text = text_of(source)
            if connection.url is not None:
                text = await bundle_files(connection.front, source, text)
            entry = await connection.front.register(text, file_of(source), caller())
            done.append({"path": entry.path, "version": entry.version, "hash": entry.hash})
    emit(indented_json(done) if as_json else "\n".join(f"{item['path']} v{item['version']}" for item in done))
    return 0
