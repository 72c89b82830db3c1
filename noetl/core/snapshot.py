"""A state as a snapshot keeps it, with the version of its shape.

The log says the same as a snapshot. So one of another format, or with fields that this release does not know,
is left alone and the state is folded from the log: nothing that a snapshot holds is ever dropped unseen.
"""

import msgspec

from noetl.core.formats import SNAPSHOT_FORMAT
from noetl.core.state import State, restore, snapshot_of


class _Saved(msgspec.Struct):
    """The bytes around a state; those of the first releases were the bare state."""

    format: int = 0
    state: msgspec.Raw = msgspec.Raw(b"")


_DECODER = msgspec.json.Decoder(_Saved)


def saved(state: State) -> bytes:
    """A snapshot of a state."""
    return b'{"format":%d,"state":%b}' % (SNAPSHOT_FORMAT, snapshot_of(state))


def opened(snapshot: bytes) -> State | None:
    """The state of a snapshot; None for one that this release does not wholly understand."""
    kept = _DECODER.decode(snapshot)
    if kept.format != SNAPSHOT_FORMAT:
        return None
    try:
        state = restore(bytes(kept.state))
    except msgspec.ValidationError:
        return None
    return state if snapshot_of(state) == bytes(kept.state) else None


def holds(snapshot: bytes, state: bytes) -> bool:
    """Whether a snapshot is that of a state, as far as one of its format can be compared."""
    try:
        kept = _DECODER.decode(snapshot)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return kept.format != SNAPSHOT_FORMAT or bytes(kept.state) == state
