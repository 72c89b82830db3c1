"""Under which subjects servers and workers speak."""

PREFIX = "noetl"
SERVERS = "servers"  # the queue group of all servers
BEAT = f"{PREFIX}.beat"
HINT = f"{PREFIX}.hint"
ALIVE = f"{PREFIX}.alive"  # where servers say that they are there


def asked(what: str, server: str | None = None) -> str:
    """Where one server, or any, is asked for something."""
    return f"{PREFIX}.any.{what}" if server is None else f"{PREFIX}.server.{server}.{what}"


def parts(server: str) -> str:
    """Where the parts of a server's long answers are fetched."""
    return f"{PREFIX}.server.{server}.parts"


def hint(pool: str) -> str:
    """Where the workers of a pool hear of work."""
    return f"{HINT}.{pool.encode().hex()}"


def worker(worker_id: str) -> str:
    """Where one worker is told something."""
    return f"{PREFIX}.worker.{worker_id}"


def orders(worker_id: str) -> str:
    """Where one worker is given orders unasked."""
    return f"{PREFIX}.worker.{worker_id}.orders"
