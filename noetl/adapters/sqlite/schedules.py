"""The statements about schedules and triggers on SQLite. Text only: nothing is executed here."""

from collections.abc import Sequence

from noetl.ports.schedule import Schedule

SCHEDULE_FIELDS = Schedule.__struct_fields__
TRIGGER_FIELDS = (
    "name", "kind", "path", "version", "workload", "payload_key", "secret", "subject", "queue", "enabled",
    "created_at", "by", "options",
)  # fmt: skip
KEPT = ("name", "last_at", "last_execution", "last_error", "created_at", "by", "skipped")  # when it changes


def _columns(fields: Sequence[str]) -> str:
    return ", ".join("made_by" if name == "by" else name for name in fields)


def _put(table: str, fields: Sequence[str]) -> str:
    changed = ", ".join(f"{name} = excluded.{name}" for name in fields if name not in KEPT)
    return (
        f"INSERT INTO {table} ({_columns(fields)}) VALUES ({', '.join('?' * len(fields))}) "
        f"ON CONFLICT (name) DO UPDATE SET {changed}"
    )


def _add(table: str, fields: Sequence[str]) -> str:
    values = ", ".join("?" * len(fields))
    added = f"INSERT INTO {table} ({_columns(fields)}) VALUES ({values})"
    return f"{added} ON CONFLICT (name) DO NOTHING RETURNING 1"


_SCHEDULES = f"SELECT {_columns(SCHEDULE_FIELDS)} FROM schedules"
_TRIGGERS = (
    f"SELECT {_columns(TRIGGER_FIELDS)}, last_at, last_execution, last_error, "
    "(SELECT count(*) FROM arrivals a WHERE a.trigger_name = t.name AND a.state = 'pending') FROM triggers t"
)
SCHEDULES_SQL = {
    "put_schedule": _put("schedules", SCHEDULE_FIELDS),
    "add_schedule": _add("schedules", SCHEDULE_FIELDS),
    "schedule": f"{_SCHEDULES} WHERE name = ?",
    "schedules": f"{_SCHEDULES} ORDER BY name",
    "due_schedules": f"{_SCHEDULES} WHERE next_at <= ? ORDER BY next_at, name LIMIT ?",
    "advance_schedule": (
        "UPDATE schedules SET next_at = ?3, last_at = ?4, last_execution = coalesce(?5, last_execution), "
        "last_error = ?6, skipped = coalesce(?7, skipped) WHERE name = ?1 AND next_at = ?2 RETURNING 1"
    ),
    "delete_schedule": "DELETE FROM schedules WHERE name = ? RETURNING 1",
    "put_trigger": _put("triggers", TRIGGER_FIELDS).replace(
        "secret = excluded.secret",
        "secret = CASE WHEN excluded.kind = 'webhook' THEN coalesce(excluded.secret, triggers.secret) END",
    ),
    "add_trigger": _add("triggers", TRIGGER_FIELDS),
    "trigger": f"{_TRIGGERS} WHERE name = ?",
    "triggers": f"{_TRIGGERS} ORDER BY name",
    "delete_trigger": "DELETE FROM triggers WHERE name = ? RETURNING 1",
}
