"""A few tool kinds as data, so that the language is tested without the tools."""

from typing import Any, Literal

from noetl.dsl.tool_kind import Field, Kind, Kinds


def _fields(**types: Any) -> dict[str, Field]:
    return {name: Field(name, given) for name, given in types.items()}


KINDS: Kinds = {
    kind.name: kind
    for kind in (
        Kind("noop", "Does nothing", open_input=True),
        Kind(
            "http",
            "Sends one request",
            inputs={
                "url": Field("url", str, required=True),
                **_fields(method=str, headers=dict[str, str] | None, params=dict[str, Any] | None, json=Any),
            },
            knobs=_fields(timeout=float | dict[str, float] | None, idempotency=bool),
            defaults={"timeout": {"connect": 10, "read": 60}},
            helper="http",
        ),
        Kind(
            "python",
            "Runs code",
            inputs=_fields(code=str | None, script=str | None, timeout=float | None),
            open_input=True,
            one_of=(("code", "script"),),
            untemplated=("code",),
            helper="py",
        ),
        Kind(
            "postgres",
            "Runs SQL",
            inputs=_fields(query=str | None, command=str | None, params=list[Any] | dict[str, Any] | None),
            one_of=(("query", "command"),),
            knobs=_fields(pool_size=int),
            sql_text=("query", "command"),
            helper="pg",
        ),
        Kind(
            "file",
            "Reads a file",
            inputs={
                "action": Field("action", Literal["read", "write"], required=True),
                "path": Field("path", str, required=True),
            },
        ),
        Kind("secrets", "Looks a secret up", inputs={"name": Field("name", str, required=True)}),
        Kind("wait", "Waits", inputs=_fields(seconds=float | None), one_of=(("seconds",),)),
        Kind("resolve", "Reads a reference", inputs={"ref": Field("ref", dict[str, Any], required=True)}),
        Kind("playbook", "Calls a playbook", open_input=True, beside=("path", "version", "wait")),
        Kind("queue", "Calls a consumer", open_input=True, beside=("topic",)),
        Kind("workbook", "Calls a block", open_input=True, beside=("block",)),
    )
}
