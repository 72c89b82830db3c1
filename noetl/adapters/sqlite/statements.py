"""Every statement of the SQLite store that is not in a schema file. Text only: nothing is executed here."""

from noetl.core.state import STATUSES
from noetl.ports.store import READING, Row, Summary

ROW_FIELDS = Row.__struct_fields__
ROW = ", ".join(ROW_FIELDS)
WRITTEN_FIELDS = tuple(name for name in ROW_FIELDS if name != "seal")
_TOLD = Summary.__struct_fields__.index("labels")  # by a front, as all behind it
SUMMARY_FIELDS = Summary.__struct_fields__[:_TOLD]
SUMMARY = ", ".join(SUMMARY_FIELDS)
BEGUN_FIELDS = tuple(name for name in SUMMARY_FIELDS if name != "format")
# Who asked for what stays as it was; an index over a column that is not set again is not written again.
CHANGING_FIELDS = (
    "status",
    "path",
    "version",
    "hash",
    "started_at",
    "ended_at",
    "due_at",
    "result",
    "continued_as",
)
PLAYBOOK = "path, version, hash, text, file, registered_at, made_by, language"
OUTLINE = "execution_id, hash, ended_at, trimmed_at IS NOT NULL"

# The log

NUMBER = "SELECT id FROM executions WHERE execution_id = ?"
BEGIN_EXECUTION = (
    f"INSERT INTO executions ({', '.join(BEGUN_FIELDS)}, owner, owned_until, seq, head, format) "
    f"VALUES ({', '.join('?' * (len(BEGUN_FIELDS) + 5))}) RETURNING id"
)
# The fence of every append: the log ends where it was thought to, and whoever appends still owns it.
_FENCED = "WHERE execution_id = ? AND seq = ? AND owner IS coalesce(?, owner) RETURNING id"
CHANGE_EXECUTION = (
    "UPDATE executions SET seq = ?, head = coalesce(?, head), format = max(format, ?), "
    f"{', '.join(f'{name} = ?' for name in CHANGING_FIELDS)} {_FENCED}"
)
MOVE_END = f"UPDATE executions SET seq = ?, head = coalesce(?, head), format = max(format, ?) {_FENCED}"
END_AND_OWNER = "SELECT seq, owner FROM executions WHERE execution_id = ?"
ADD_ROW = (
    f"INSERT INTO log (execution, {', '.join(WRITTEN_FIELDS)}) "
    f"VALUES (?, {', '.join('?' * len(WRITTEN_FIELDS))})"
)
SAVE_SNAPSHOT = "INSERT OR REPLACE INTO snapshots (execution, seq, hash, state) VALUES (?, ?, ?, ?)"
SNAPSHOT = "SELECT seq, state, hash FROM snapshots WHERE execution = ?"
ROWS_BEHIND = f"SELECT {ROW} FROM log WHERE execution = ? AND first > ? ORDER BY first"
ROWS_FROM = (
    f"SELECT {ROW} FROM log WHERE execution = ?1 AND first >= coalesce("
    "(SELECT max(first) FROM log WHERE execution = ?1 AND first <= ?2), ?2) AND last >= ?2 "
    "ORDER BY first LIMIT ?3"
)
BATCH = "SELECT 1 FROM log WHERE execution = ? AND batch = ?"

# Projections

PROJECTION = (
    f"SELECT e.seq, e.head, s.seq, s.hash, s.state, {', '.join(f'e.{name}' for name in SUMMARY_FIELDS)} "
    "FROM executions e LEFT JOIN snapshots s ON s.execution = e.id WHERE e.execution_id = ?"
)
EXECUTION = f"SELECT {SUMMARY} FROM executions WHERE execution_id = ?"
NEWEST = (
    f"SELECT {SUMMARY} FROM executions WHERE id = (SELECT coalesce("
    "(SELECT max(n.id) FROM executions n WHERE n.chain = coalesce(e.chain, e.execution_id)), e.id) "
    "FROM executions e WHERE e.execution_id = ?)"
)
EXECUTION_BY_KEY = f"SELECT {SUMMARY} FROM executions WHERE idempotency_key = ?"
_FILTER = (
    "(:status IS NULL OR status = :status) AND (:path IS NULL OR path GLOB :path) "
    "AND (:children OR parent IS NULL) AND (:continued OR continued_as IS NULL) "
    "AND (:by IS NULL OR requested_by = :by) "
    "AND (:paths IS NULL OR path IN (SELECT value FROM json_each(:paths))) "
    "AND (:since IS NULL OR requested_at >= :since) "
    "AND (:until IS NULL OR requested_at <= :until) AND (:start IS NULL OR id < :start) "
    "AND (:text IS NULL OR instr(execution_id, :text) OR instr(lower(path), :text))"
)
# The narrowest of what is asked for leads, through its index.
_LEADS = {
    "prefix": "execution_id >= :prefix AND execution_id < :prefix || '~' AND ",
    "parent": "parent = :parent AND ",
    **{
        status: f"status = '{status}' AND status <> 'completed' AND "  # the index says it in the same words
        for status in STATUSES
        if status != "completed"
    },
    "by": "requested_by = :by AND ",
    "path": "path = :exact AND ",
    "": "",
}
EXECUTIONS = {
    lead: f"SELECT id, {SUMMARY} FROM executions WHERE {condition}{_FILTER} "
    + ("AND (:parent IS NULL OR parent = :parent) " if lead == "prefix" else "")
    + "ORDER BY id DESC LIMIT :limit"
    for lead, condition in _LEADS.items()
}
DUE = (
    "SELECT execution_id FROM executions WHERE ended_at IS NULL AND status NOT IN ('paused', 'stuck') "
    "AND (due_at <= ?1 OR owned_until < ?1) ORDER BY due_at, id LIMIT ?2"
)

# Owners and messages

HOLDER = "SELECT owner, owned_until FROM executions WHERE execution_id = ?"
CLAIM = (
    "UPDATE executions SET owner = ?1, owned_until = ?2, "
    "in_hand = CASE WHEN owner IS NULL OR owner = ?1 THEN in_hand ELSE coalesce(in_hand, '') END "
    "WHERE execution_id = ?3 AND stuck IS NULL "
    "AND (owner IS NULL OR owner IN (?1, ?5) OR owned_until < ?4) RETURNING 1"
)
LEAVE = (
    "UPDATE executions SET owner = NULL, owned_until = 0, "
    f"in_hand = nullif(nullif(in_hand, owner), '{READING}' || owner) WHERE owner = ? AND ended_at IS NULL"
)
LET_GO = (
    "UPDATE executions SET owner = NULL, owned_until = 0, "
    f"in_hand = nullif(nullif(in_hand, owner), '{READING}' || owner) "
    "WHERE execution_id = ? AND owner = ? AND ended_at IS NULL"
)
IN_HAND = "SELECT in_hand FROM executions WHERE execution_id = ?"
TAKE_IN_HAND = "UPDATE executions SET in_hand = ? WHERE execution_id = ?"
# What nobody alive owns, and of one's own what is wanted again; that first. What is paused rests with nobody,
# unless its parent is over: that it ends with it may have been lost with whoever was to tell it.
LEFT = (
    "SELECT id, owner, in_hand FROM executions e WHERE ended_at IS NULL AND stuck IS NULL AND ("
    "(owner = :owner AND execution_id IN (SELECT value FROM json_each(:own))) "
    "OR ((status NOT IN ('paused', 'stuck') OR (status = 'paused' AND EXISTS (SELECT 1 FROM executions p "
    "WHERE p.execution_id = e.parent AND p.ended_at IS NOT NULL))) "
    "AND execution_id NOT IN (SELECT value FROM json_each(:but)) "
    "AND (owner IS NULL OR (owner <> :owner AND ("
    "owned_until < :now OR owner IN (SELECT value FROM json_each(:dead))))))) "
    "ORDER BY owner IS NOT :owner, due_at, id LIMIT :limit"
)
TAKE_OVER = "UPDATE executions SET owner = ?, owned_until = ?, in_hand = ? WHERE id = ?"
TAKEN_OVER = (
    f"SELECT {', '.join(f'e.{name}' for name in SUMMARY_FIELDS)}, coalesce(length(s.state), 0) + coalesce("
    "(SELECT sum(length(l.body)) FROM log l WHERE l.execution = e.id AND l.first > coalesce(s.seq, 0)), 0) "
    "FROM executions e LEFT JOIN snapshots s ON s.execution = e.id WHERE e.id = ?"
)
OWNERS = "SELECT DISTINCT owner FROM executions WHERE ended_at IS NULL AND owner IS NOT NULL"
PUT_DOWN = "UPDATE executions SET in_hand = NULL WHERE execution_id = ? AND in_hand = ?"
SET_ASIDE = (
    "UPDATE executions SET stuck = json_set(?3, '$.status', status), status = 'stuck', "
    "owner = NULL, owned_until = 0, in_hand = NULL "
    "WHERE execution_id = ?1 AND owner = ?2 AND ended_at IS NULL RETURNING 1"
)
STUCK = "SELECT stuck FROM executions WHERE execution_id = ? AND stuck IS NOT NULL"
RELEASE = (
    "UPDATE executions SET stuck = NULL, status = ?, in_hand = ?, owner = ?, owned_until = ? "
    "WHERE execution_id = ?"
)
TALLY = (
    "SELECT status, max(0, (coalesce(ended_at, requested_at) - ?1) / ?2) AS part, count(*) FROM ("
    "SELECT status, path, requested_at, ended_at FROM ("
    "SELECT status, path, requested_at, ended_at FROM executions ORDER BY id DESC LIMIT ?4"
    ") WHERE ended_at IS NOT NULL AND requested_at >= ?1 "
    "UNION ALL SELECT status, path, requested_at, ended_at FROM executions WHERE ended_at IS NULL"
    ") WHERE ?3 IS NULL OR path GLOB ?3 GROUP BY 1, 2"
)
RETRIED = "SELECT DISTINCT retry_of FROM executions WHERE retry_of IN (SELECT value FROM json_each(?))"
COUNT_STUCK = "SELECT count(*) FROM executions WHERE stuck IS NOT NULL"
RENEW = "UPDATE executions SET owned_until = ? WHERE owner = ? AND ended_at IS NULL"
ANNOUNCE = "INSERT OR REPLACE INTO servers (server, url, until) VALUES (?1, ?2, ?4 + ?3)"
WITHDRAW = "DELETE FROM servers WHERE server = ? OR until < ?"
SERVERS = "SELECT server, url FROM servers WHERE until >= ? ORDER BY server"
POST = (
    "INSERT INTO mailbox (execution_id, message) "
    "SELECT execution_id, ?2 FROM executions WHERE execution_id = ?1 AND ended_at IS NULL RETURNING id"
)
IS_POSTED = "SELECT 1 FROM mailbox WHERE id = ?"
_MAIL_OF_OWNER = (
    "EXISTS (SELECT 1 FROM executions e "
    "WHERE e.execution_id = mailbox.execution_id AND e.owner = ? AND e.ended_at IS NULL)"
)
MAIL = f"SELECT id, execution_id, message FROM mailbox WHERE {_MAIL_OF_OWNER} ORDER BY id"
DISCARD_LETTER = "DELETE FROM mailbox WHERE id = ?"
MOVE_MAIL = "UPDATE mailbox SET execution_id = ? WHERE execution_id = ?"
DROP_MAIL = "DELETE FROM mailbox WHERE execution_id = ?"

# Playbooks and credentials

NEWEST_VERSION = f"SELECT {PLAYBOOK}, deleted_at FROM playbooks WHERE path = ? ORDER BY version DESC LIMIT 1"
NEWEST_NUMBER = "SELECT max(version) FROM playbooks WHERE path = ? AND deleted_at IS NULL"
MOVE_PLAYBOOK = "UPDATE playbooks SET file = ? WHERE path = ? AND version = ?"
ADD_PLAYBOOK = f"INSERT INTO playbooks ({PLAYBOOK}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
FIND_PLAYBOOK = (
    f"SELECT {PLAYBOOK} FROM playbooks WHERE (?1 IS NULL OR hash = ?1) AND (?2 IS NULL OR path = ?2) "
    "AND (?3 IS NULL OR version = ?3) AND (?1 IS NOT NULL OR deleted_at IS NULL) "
    "ORDER BY version DESC LIMIT 1"
)
PLAYBOOKS = (
    f"SELECT {PLAYBOOK} FROM playbooks p WHERE deleted_at IS NULL AND version = "
    "(SELECT max(version) FROM playbooks WHERE path = p.path AND deleted_at IS NULL) ORDER BY path"
)
VERSIONS = f"SELECT {PLAYBOOK} FROM playbooks WHERE deleted_at IS NULL AND path = ? ORDER BY version DESC"
DELETE_PLAYBOOK = (
    "UPDATE playbooks SET deleted_at = ?3 WHERE path = ?1 AND (?2 IS NULL OR version = ?2) "
    "AND deleted_at IS NULL RETURNING 1"
)
PUT_CREDENTIAL = "INSERT OR REPLACE INTO credentials (name, sealed, set_at) VALUES (?, ?, ?)"
RESEAL_CREDENTIAL = "UPDATE credentials SET sealed = ?3 WHERE name = ?1 AND sealed = ?2 RETURNING 1"
CREDENTIAL = "SELECT sealed FROM credentials WHERE name = ?"
CREDENTIALS = "SELECT name, set_at FROM credentials ORDER BY name"
DELETE_CREDENTIAL = "DELETE FROM credentials WHERE name = ? RETURNING 1"

TOKEN_FIELDS = ("id", "hash", "name", "scopes", "prefixes", "created_at", "expires_at", "by", "pools")
_TOKEN = "id, hash, name, scopes, prefixes, created_at, expires_at, made_by, pools"
PUT_TOKEN = f"INSERT OR REPLACE INTO tokens ({_TOKEN}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
TOKEN = f"SELECT {_TOKEN} FROM tokens WHERE id = ?"
TOKENS = f"SELECT {_TOKEN} FROM tokens ORDER BY created_at DESC, id"
DELETE_TOKEN = "DELETE FROM tokens WHERE id = ? RETURNING 1"

# What is over

ENDED = (
    f"SELECT {OUTLINE} FROM executions WHERE ended_at <= ?1 AND execution_id > ?2 "
    "ORDER BY execution_id LIMIT ?3"
)
FAMILY = f"""
WITH RECURSIVE family (member, parent, retry_of, chain) AS (
  SELECT execution_id, parent, retry_of, chain FROM executions WHERE execution_id = ?
  UNION
  SELECT e.execution_id, e.parent, e.retry_of, e.chain FROM family f CROSS JOIN executions e
  ON e.execution_id = f.parent OR e.execution_id = f.retry_of OR e.parent = f.member OR e.retry_of = f.member
    OR e.execution_id = f.chain OR e.chain = f.member
)
SELECT {OUTLINE} FROM family CROSS JOIN executions ON execution_id = member
"""
KEPT = "SELECT execution_id, expired_at IS NOT NULL FROM executions WHERE execution_id = ?"
EXPIRE = "UPDATE executions SET expired_at = ? WHERE execution_id = ? AND expired_at IS NULL"
IS_OVER = "SELECT id FROM executions WHERE execution_id = ? AND ended_at IS NOT NULL"
TRIM_ROW = "UPDATE log SET body = ?, seal = ? WHERE execution = ? AND first = ? AND last = ?"
MARK_TRIMMED = "UPDATE executions SET trimmed_at = ? WHERE id = ?"
DELETE_LOG = "DELETE FROM log WHERE execution = ?"
DELETE_SNAPSHOT = "DELETE FROM snapshots WHERE execution = ?"
DELETE_EXECUTION = "DELETE FROM executions WHERE id = ?"

# How much there is

COUNT_EXECUTIONS = "SELECT status, count(*) FROM executions GROUP BY status"
COUNT_EVENTS = "SELECT coalesce(sum(seq), 0) FROM executions"
COUNT_OTHERS = (
    "SELECT (SELECT count(*) FROM playbooks WHERE deleted_at IS NULL), (SELECT count(*) FROM credentials), "
    "(SELECT count(*) FROM mailbox)"
)
OLDEST_DUE = (
    "SELECT execution_id, due_at FROM executions WHERE ended_at IS NULL "
    "AND status NOT IN ('paused', 'stuck') AND due_at IS NOT NULL ORDER BY due_at LIMIT 1"
)
PAGES = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"

SQL = {name.lower(): text for name, text in tuple(globals().items()) if isinstance(text, str)}
"""The statements by name, as what all databases share calls them."""
