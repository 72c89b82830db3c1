"""`noetl schema`: the JSON Schema of the language, of one kind or of tests. Building it is the language's."""

import json

import click

from noetl.cli.terminal import emit

EPILOG = """\b
Examples:
  noetl schema > playbook.schema.json
  noetl schema http
  noetl schema --tests > test.schema.json

Put this line at the top of a playbook, and editors with a YAML language server complete and check it:

\b
  # yaml-language-server: $schema=playbook.schema.json
"""


@click.command("schema", epilog=EPILOG)
@click.argument("kind", required=False)
@click.option("--tests", is_flag=True, help="The schema of test files (*.test.yaml).")
@click.option("--json", "as_json", is_flag=True, hidden=True, help="Accepted everywhere; a schema is JSON.")
def command(kind: str | None, tests: bool, as_json: bool) -> int:
    """Print the JSON Schema of playbooks for editors, or the schema of one tool KIND's input."""
    if tests and kind is not None:
        raise click.UsageError("--tests prints the schema of test files; it takes no kind")
    from noetl.dsl.grammar.editor_schema import kind_schema, playbook_schema
    from noetl.wiring.tool_kinds import kinds, tool

    if tests:
        from noetl.dsl.testing.schema import suite_schema

        schema = suite_schema()
    else:
        schema = playbook_schema(kinds()) if kind is None else kind_schema(tool(kind).kind)
    emit(json.dumps(schema, indent=2, ensure_ascii=False))
    return 0
