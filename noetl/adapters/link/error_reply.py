"""Errors as replies on the bus: written by whoever is asked, raised again by whoever asked."""

import msgspec

from noetl.errors import BackendError, Conflict, Denied, NoetlError, NotFound, RequestError
from noetl.ports.link_protocol import NoCommonProtocol, ProtocolRange

ERROR_CHARS = 4000  # of a message: what it names may be as long as a question
KINDS: dict[str, type[NoetlError]] = {
    kind.code: kind for kind in (NotFound, Conflict, Denied, RequestError, BackendError)
}


class ErrorReply(msgspec.Struct, omit_defaults=True):
    """What went wrong, and whether the same question may be answered later."""

    code: str
    message: str
    hint: str | None = None
    again: bool = False
    spoken: ProtocolRange | None = None  # by a server that does not speak the version it was asked in


_decode = msgspec.json.Decoder(ErrorReply).decode


def encode_error(error: NoetlError) -> bytes:
    """An error as a reply."""
    hint = error.hint and error.hint[:ERROR_CHARS]
    again = isinstance(error, BackendError)
    spoken = error.spoken if isinstance(error, NoCommonProtocol) else None
    return msgspec.json.encode(ErrorReply(error.code, error.message[:ERROR_CHARS], hint, again, spoken))


def decode_error(reply: bytes) -> NoetlError:
    """The error that a reply says; one of a kind that is not known here is not worth asking again."""
    try:
        error_reply = _decode(reply)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return BackendError("the reply cannot be read; ask again")
    if error_reply.spoken is not None:
        return NoCommonProtocol(error_reply.message, hint=error_reply.hint, spoken=error_reply.spoken)
    kind = KINDS.get(error_reply.code, BackendError if error_reply.again else RequestError)
    return kind(error_reply.message, hint=error_reply.hint)
