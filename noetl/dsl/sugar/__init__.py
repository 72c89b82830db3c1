"""Authoring sugar as plain tasks: `while`, `until`, `choose`, `paginate`. The engine knows none of it."""
