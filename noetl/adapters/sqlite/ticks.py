"""The statements about ticks and backfills on SQLite. Text only: nothing is executed here."""

_STANDING = (  # how the execution stands that a tick runs, or what went on from it
    "CASE WHEN t.status = 'running' THEN (SELECT n.status FROM executions e JOIN executions n ON n.id = "
    "coalesce((SELECT max(c.id) FROM executions c WHERE c.chain = coalesce(e.chain, e.execution_id)), e.id) "
    "WHERE e.execution_id = t.execution) END"
)
TICKS_SQL = {
    "add_tick": (
        "INSERT INTO ticks (owner, tick, status, execution, why, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
        "ON CONFLICT (owner, tick) DO NOTHING"
    ),
    "forget_ticks": (
        "DELETE FROM ticks WHERE owner = ?1 AND status NOT IN ('queued', 'starting', 'running') AND "
        "tick <= (SELECT tick FROM ticks WHERE owner = ?1 ORDER BY tick DESC LIMIT 1 OFFSET ?2)"
    ),
    "ticks": (
        f"SELECT owner, tick, status, execution, why, at, {_STANDING} FROM ticks t WHERE owner = ?1 AND (?2 "
        "IS NULL OR tick < ?2) ORDER BY tick DESC LIMIT ?3"
    ),
    "open_ticks": (
        "SELECT owner, tick, status, execution, why, at FROM ticks WHERE status IN ('queued', "
        "'starting', 'running') AND (?1 IS NULL OR owner = ?1) ORDER BY tick, owner"
    ),
    "ended_ticks": (
        "SELECT t.owner, t.tick, coalesce(n.status, 'failed'), t.execution, iif(n.id IS NULL, ?1, t.why), "
        "t.at FROM ticks t LEFT JOIN executions e ON e.execution_id = t.execution LEFT JOIN executions n "
        "ON n.id = coalesce((SELECT max(c.id) FROM executions c WHERE c.chain = coalesce(e.chain, "
        "e.execution_id)), e.id) WHERE t.status = 'running' AND (n.id IS NULL OR n.ended_at IS NOT NULL)"
    ),
    "note_ends": (
        f"UPDATE ticks AS t SET at = ?2, status = {_STANDING} WHERE status = 'running' AND execution = ?1"
    ),
    "planned_ticks": (
        "SELECT owner, tick, status, execution, why, at FROM ticks WHERE owner = ?1 AND status = "
        "'waiting' ORDER BY tick LIMIT ?2"
    ),
    "move_tick": (
        "UPDATE ticks SET status = ?4, execution = coalesce(?5, execution), why = ?6, at = ?7 WHERE "
        "owner = ?1 AND tick = ?2 AND status = ?3 RETURNING 1"
    ),
    "start_tick": (
        "UPDATE ticks SET status = ?4, execution = coalesce(?5, execution), why = ?6, at = ?7 WHERE "
        "owner = ?1 AND tick = ?2 AND status = ?3 "
        "AND EXISTS (SELECT 1 FROM backfills WHERE id = ?8 AND status = 'running') RETURNING 1"
    ),
    "tick_counts": (
        f"SELECT status, {_STANDING} AS standing, count(*) FROM ticks t WHERE owner = ?1 GROUP BY 1, 2"
    ),
    "put_backfill": (
        "INSERT INTO backfills (id, status, created_at, body) VALUES (?1, ?2, ?3, ?4) RETURNING 1"
    ),
    "forget_backfills": (
        "DELETE FROM backfills WHERE id IN ( SELECT id FROM backfills WHERE status IN ('done', "
        "'cancelled') ORDER BY created_at DESC, id LIMIT -1 OFFSET ?1)"
    ),
    "forget_backfill_ticks": (
        "DELETE FROM ticks WHERE owner LIKE 'backfill/%' AND NOT EXISTS (SELECT 1 FROM backfills "
        "WHERE 'backfill/' || id = ticks.owner)"
    ),
    "backfill": "SELECT id, status, body FROM backfills WHERE id = ?1",
    "backfills": "SELECT id, status, body FROM backfills ORDER BY created_at DESC, id",
    "running_backfills": (
        "SELECT id, status, body FROM backfills WHERE status = 'running' ORDER BY created_at, id"
    ),
    "note_tick": (
        "UPDATE schedules SET last_execution = coalesce(?3, last_execution), last_error = ?4 WHERE "
        "name = ?1 AND last_at = ?2"
    ),
    "drop_ticks": "DELETE FROM ticks WHERE owner = ?1",
    "move_backfill": (
        "UPDATE backfills SET status = ?3 WHERE id = ?1 AND status IN (SELECT value FROM "
        "json_each(?2)) RETURNING 1"
    ),
    "cancel_planned": (
        "UPDATE ticks SET status = 'cancelled', why = 'the backfill was cancelled', at = ?2 WHERE "
        "owner = ?1 AND status = 'waiting'"
    ),
}
