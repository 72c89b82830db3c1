"""The clock of this machine. What computes with moments gets it as an argument, and reads no clock itself."""

import time


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
