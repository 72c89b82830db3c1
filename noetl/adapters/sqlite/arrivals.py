"""The statements about what arrives for triggers on SQLite. Text only: nothing is executed here."""

ARRIVAL_COLUMNS = (
    "id, trigger_name, key, at, body, state, firing, attempts, next_at, execution, error, settled_at"
)
ARRIVALS_SQL = {
    "add_arrival": (
        "INSERT INTO arrivals (trigger_name, key, at, body) SELECT ?1, ?2, ?3, ?4 "
        "WHERE EXISTS (SELECT 1 FROM triggers WHERE name = ?1) ON CONFLICT DO NOTHING RETURNING id"
    ),
    "arrivals": (
        f"SELECT {ARRIVAL_COLUMNS} FROM arrivals WHERE trigger_name = ?1 AND (?2 IS NULL OR id < ?2) "
        "ORDER BY id DESC LIMIT ?3"
    ),
    "waiting_triggers": (
        "SELECT t.name FROM arrivals a JOIN triggers t ON t.name = a.trigger_name "
        "WHERE a.state = 'pending' AND a.next_at <= ?1 AND t.enabled AND t.held_until <= ?1 "
        "GROUP BY t.name ORDER BY min(a.id) LIMIT ?2"
    ),
    "hold_trigger": (
        "UPDATE triggers SET holder = ?2, held_until = ?4 + ?3 "
        "WHERE name = ?1 AND (held_until <= ?4 OR holder = ?2) RETURNING 1"
    ),
    "let_go_of_trigger": "UPDATE triggers SET held_until = 0, holder = NULL WHERE name = ? AND holder = ?",
    "pending_arrivals": (
        f"SELECT {ARRIVAL_COLUMNS} FROM arrivals WHERE trigger_name = ?1 AND state = 'pending' "
        "AND (firing IS NULL OR next_at <= ?3) ORDER BY id LIMIT ?2"
    ),
    "change_arrivals": (
        "UPDATE arrivals SET state = ?4, firing = ?5, attempts = ?6, next_at = ?7, execution = ?8, "
        "error = ?9, settled_at = ?10 WHERE trigger_name = ?1 AND state = 'pending' "
        "AND id IN (SELECT value FROM json_each(?3)) "
        "AND EXISTS (SELECT 1 FROM triggers WHERE name = ?1 AND holder = ?2) RETURNING 1"
    ),
    "due_listings": (
        "SELECT name FROM triggers WHERE kind = 'object' AND enabled AND next_look <= ?1 "
        "AND held_until <= ?1 ORDER BY next_look, name LIMIT ?2"
    ),
    "looked": "SELECT looked FROM triggers WHERE name = ?",
    "seen_objects": "SELECT key, tag FROM seen_objects WHERE trigger_name = ?",
    "note_look": (
        "UPDATE triggers SET looked = ?3, next_look = ?4 WHERE name = ?1 AND holder = ?2 RETURNING 1"
    ),
    "keep_seen": (
        "INSERT INTO seen_objects (trigger_name, key, tag) VALUES (?, ?, ?) "
        "ON CONFLICT DO UPDATE SET tag = excluded.tag"
    ),
    "forget_seen": "DELETE FROM seen_objects WHERE trigger_name = ? AND key = ?",
    "note_firing": (
        "UPDATE triggers SET last_at = ?4, last_execution = coalesce(?2, last_execution), last_error = ?3 "
        "WHERE name = ?1 AND (last_at IS NULL OR last_at <= ?4 - 1000 OR ?3 IS NOT NULL "
        "OR last_error IS NOT NULL)"
    ),
    "prune_arrivals": "DELETE FROM arrivals WHERE settled_at < ? AND state <> 'pending' RETURNING 1",
}
