"""Under which subjects servers and workers speak."""

import hashlib
import re

PREFIX = "noetl"
SERVERS = "servers"  # the queue group of all servers
BEAT = f"{PREFIX}.beat"
HINT = f"{PREFIX}.hint"
ALIVE = f"{PREFIX}.alive"  # where servers say that they are there
LONGEST = 200
_NAME = re.compile(r"[\w-]+(\.[\w-]+)*")


def asked(what: str, server: str | None = None) -> str:
    """Where one server, or any, is asked for something."""
    return f"{PREFIX}.any.{what}" if server is None else f"{PREFIX}.server.{server}.{what}"


ANYTHING = "*"  # whatever is asked: a request that nobody knows is refused, not left without an answer


def parts(server: str) -> str:
    """Where the parts of a server's long answers are fetched."""
    return f"{PREFIX}.parts.{server}"


def hint(pool: str) -> str:
    """Where the workers of a pool hear of work; any text may be its name, and NATS takes no long subject."""
    name = pool.encode()
    return f"{HINT}.{name.hex() if len(name) <= LONGEST else hashlib.sha256(name).hexdigest()}"


def is_name(text: str) -> bool:
    """Whether a worker or server may be called that: its name is a part of subjects."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def worker(worker_id: str) -> str:
    """Where one worker is told something."""
    return f"{PREFIX}.worker.{worker_id}"


def orders(worker_id: str) -> str:
    """Where one worker is given orders unasked."""
    return f"{PREFIX}.worker.{worker_id}.orders"
