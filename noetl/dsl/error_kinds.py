"""The kinds of errors that the engine and its own tools have, by name: see docs/reference/error-kinds.md.

A tool kind of somebody else's may have others.
"""

ENGINE = frozenset({
    "template", "validation", "value", "reference", "conflict", "join", "limit", "timeout", "child",
    "rejected", "failed", "cancelled", "worker_lost", "synthesis", "keychain", "requires", "not_found",
    "not_given", "internal",
})  # fmt: skip
TOOLS = frozenset({
    "input", "http", "connect", "dns", "network", "tls", "protocol", "redirect", "auth", "python",
    "crashed", "shell", "sql", "sqlite", "duckdb", "postgres", "delta", "iceberg", "file", "object", "path",
    "format", "body", "too_large", "exists", "nats", "no_responders", "no_stream", "backend",
    "missing_extra", "mcp", "circuit", "email", "ssh", "sftp", "kafka", "dlt", "dbt", "container",
})  # fmt: skip
ALL = ENGINE | TOOLS

# Kinds of which one kind of tool alone has errors.
ONLY = {
    "python": "python",
    "shell": "shell",
    "mcp": "mcp",
    "circuit": "quantum",
    "email": "email",
    "dlt": "dlt",
    "dbt": "dbt",
    "sftp": "sftp",
    "kafka": "kafka",
    "container": "container",
}

# What other engines call an error, and the condition that asks for it here.
ELSEWHERE = {
    "rate_limit": "output.http.status == 429",
    "rate_limited": "output.http.status == 429",
    "too_many_requests": "output.http.status == 429",
    "server_error": "output.http.status >= 500",
    "client_error": "400 <= output.http.status < 500",
    "unauthorized": "output.http.status == 401",
    "connection": "output.error.kind == 'connect'",
    "connection_error": "output.error.kind == 'connect'",
    "network_error": "output.error.kind == 'connect'",
    "http_error": "output.error.kind == 'http'",
    "exception": "output.error.kind == 'python'",
    "runtime_error": "output.error.kind == 'python'",
    "db_error": "output.error.kind in ['sql', 'sqlite', 'duckdb', 'postgres']",
}
OWN_KINDS = frozenset({
    "noop", "python", "http", "postgres", "sql", "duckdb", "sqlite", "shell", "file", "object", "nats",
    "resolve", "secrets", "playbook", "workbook", "wait", "mcp", "quantum", "transfer", "email", "ssh",
    "sftp", "kafka", "dlt", "dbt", "container",
})  # fmt: skip
