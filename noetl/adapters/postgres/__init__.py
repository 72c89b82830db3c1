"""PostgreSQL: the event log with group commit, its projections, and payloads in chunks."""

SCHEMES = ("postgres://", "postgresql://")
