"""The statements about notifications and their deliveries on SQLite. Text only: nothing is executed here."""

from noetl.ports.notification import Delivery, Notification

_FIELDS = Notification.__struct_fields__
_COLUMNS = ", ".join("made_by" if name == "by" else name for name in _FIELDS)
_CHANGED = ", ".join(
    f"{name} = excluded.{name}" for name in _FIELDS if name not in ("name", "created_at", "by")
)
_ADD = (
    f"INSERT INTO notifications ({_COLUMNS}) VALUES ({', '.join('?' * len(_FIELDS))}) ON CONFLICT (name) DO"
)
_DELIVERY = ", ".join(Delivery.__struct_fields__)
NOTIFICATIONS_SQL = {
    "put_notification": f"{_ADD} UPDATE SET {_CHANGED}",
    "add_notification": f"{_ADD} NOTHING RETURNING 1",
    "notification": f"SELECT {_COLUMNS} FROM notifications WHERE name = ?",
    "notifications": f"SELECT {_COLUMNS} FROM notifications ORDER BY name",
    "delete_notification": "DELETE FROM notifications WHERE name = ? RETURNING 1",
    "tell": (
        "INSERT INTO deliveries (notification, occasion, execution_id, path, seq, at, detail, next_at) "
        "SELECT n.name, ?2, e.execution_id, e.path, ?3, ?4, ?6, ?7 FROM executions e, notifications n "
        "WHERE e.execution_id = ?1 AND n.enabled AND e.path GLOB replace(n.path, '[', '[[]') "
        "AND NOT (n.target GLOB 'playbook:*' AND coalesce(e.idempotency_key, '') GLOB 'notification/*') "
        "AND CASE WHEN ?5 IS NULL THEN EXISTS (SELECT 1 FROM json_each(n.occasions) WHERE value = ?2) "
        "AND (n.children OR e.parent IS NULL) "
        "ELSE EXISTS (SELECT 1 FROM json_each(?5) WHERE value = n.name) END"
    ),
    "add_delivery": (
        "INSERT INTO deliveries (notification, occasion, path, seq, at, detail) "
        "SELECT name, ?2, coalesce(?4, path), 0, ?3, ?5 FROM notifications "
        f"WHERE name = ?1 RETURNING {_DELIVERY}"
    ),
    "deliveries": (
        f"SELECT {_DELIVERY} FROM deliveries WHERE (?1 IS NULL OR notification = ?1) "
        "AND (?2 IS NULL OR execution_id = ?2) AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR id < ?4) "
        "AND (next_at IS NULL OR occasion <> 'late' OR at <= ?6) "
        "ORDER BY id DESC LIMIT ?5"
    ),
    "delivery": f"SELECT {_DELIVERY} FROM deliveries WHERE id = ?",
    "deliveries_due": "SELECT 1 FROM deliveries WHERE next_at <= ? LIMIT 1",
    "take_deliveries": (
        "UPDATE deliveries SET next_at = ?1 + ?2, attempts = attempts + 1 WHERE id IN ("
        "SELECT id FROM deliveries WHERE next_at <= ?1 "
        "AND notification NOT IN (SELECT value FROM json_each(?3)) "
        f"ORDER BY next_at, id LIMIT ?4) RETURNING {_DELIVERY}"
    ),
    "settle_delivery": (
        "UPDATE deliveries SET state = ?3, next_at = ?4, code = ?5, error = ?6, answers = ?7, "
        "settled_at = CASE WHEN ?3 = 'pending' THEN NULL ELSE ?8 END "
        "WHERE id = ?1 AND attempts = ?2 RETURNING 1"
    ),
    "drop_delivery": "DELETE FROM deliveries WHERE id = ?",
    "redeliver": (
        "UPDATE deliveries SET state = 'pending', attempts = 0, next_at = 0, settled_at = NULL "
        "WHERE id = ? RETURNING 1"
    ),
    "prune_deliveries": "DELETE FROM deliveries WHERE settled_at < ? AND next_at IS NULL RETURNING 1",
}
