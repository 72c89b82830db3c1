"""The JSON Schema of test files, for editors."""

from noetl.dsl.grammar.editor_schema import record_schema
from noetl.dsl.grammar.editor_schema_kind import Schema
from noetl.dsl.testing.grammar import ANSWER, FILE, TEST

TITLE = "NoETL playbook tests"


def suite_schema() -> Schema:
    """The schema of a test file, with what stands under names that the author chose."""
    schema, answer = record_schema(FILE, TITLE), record_schema(ANSWER, TITLE)
    body = {key: answer[key] for key in ("type", "properties", "additionalProperties")}
    schema["$defs"] |= {**answer["$defs"], "answer": body}
    answer = {"$ref": "#/$defs/answer"}
    given = {
        "type": "object",
        "additionalProperties": {"anyOf": [answer, {"type": "array", "items": answer}]},
    }
    for place in (schema, schema["$defs"][TEST.name.removeprefix("a ")]):
        place["properties"]["given"] |= given
        place["properties"]["children"] |= {"additionalProperties": given}
    return schema
