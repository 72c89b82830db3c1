"""Where an execution is in a trace: ids that everyone derives alike, so that nothing has to be passed along.

The trace of an execution has the execution's id. The span of a task is named by the key under which its
effects are known, so that a server's spans and the header that a worker sends meet.
"""

import hashlib


def span_id(*parts: str | int) -> str:
    """The id of a span: of an execution, of a step run in it, or of one attempt of a task."""
    return hashlib.sha256("/".join(map(str, parts)).encode()).hexdigest()[:16]


def traceparent(execution_id: str, key: str, attempt: int) -> str:
    """The W3C header of a call that an attempt of a task makes."""
    return f"00-{execution_id}-{span_id(key, attempt)}-01"
