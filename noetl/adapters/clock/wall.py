"""The clock on the wall. Whoever only reckons with moments is handed it, and never reads one itself."""

import time


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
