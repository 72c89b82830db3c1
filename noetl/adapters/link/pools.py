"""Which pools workers with a token may serve: those that it names."""

from collections.abc import Sequence

from noetl.errors import Denied
from noetl.ports.store import ANY_POOL


def check_pool(token: str, pools: Sequence[str], pool: str) -> None:
    """Raise Denied when workers with a token of these pools may not serve a pool."""
    if pool not in pools and ANY_POOL not in pools:
        named = ", ".join(pools) or "none"
        message = f"the token '{token}' is not for the pool '{pool[:80]}'; its pools: {named}"
        raise Denied(message, hint="noetl token create NAME --scope worker --pool POOL")
