"""What a server is told when it is made: its kinds, its limits, and who may come in. Nothing is read here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.metrics_core import Metric

from noetl.dsl.tool_kind import Kinds
from noetl.mcp.library import Library
from noetl.server.auth import Auth

STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything about a server that is not the product behind it."""

    kinds: Kinds  # what playbooks are checked against
    tools: Sequence[Mapping[str, object]] = ()  # what each kind says of itself
    library: Library = field(default_factory=Library)  # what agents can read
    version: str = ""
    static: Path = STATIC
    ready_after_ms: int = 30_000  # work that is due for longer than this makes the server not ready
    heartbeat_s: float = 15.0  # a stream says so often that it is alive
    body_bytes: int = 2 * 1024 * 1024
    public_url: str | None = None  # at which people reach this server; None: as they call it
    auth: Auth | None = None  # None: whoever reaches this server may do everything
    rate_per_s: float = 0.0  # how often each caller may ask; 0: as often as they like
    rate_burst: int = 100  # so many at once
    collect: Callable[[], Iterable[Metric]] = tuple  # what else is measured, for /metrics
    hosts: Sequence[str] = field(default=("127.0.0.1", "localhost", "::1"))  # names this server answers to
