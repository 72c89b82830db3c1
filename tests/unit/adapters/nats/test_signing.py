"""What workers say on the bus is signed: forged, altered, expired and foreign signatures are refused."""

import asyncio

import pytest

from noetl.adapters.nats.signing import STRANGERS_MOST, Signer, Verifier, closed
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import digest, spelled
from noetl.ports.store import AccessToken

SECRET = "s" * 43
ID = "0123456789abcdef"
BEARER = spelled(ID, SECRET)


def token(**more: object) -> AccessToken:
    given = {"id": ID, "hash": digest(SECRET), "name": "w", "scopes": ["worker"], **more}
    return AccessToken(**given)  # type: ignore[arg-type]


def verifier(*known: AccessToken, required: bool = True, now: float | None = None) -> Verifier:
    async def find(token_id: str) -> AccessToken:
        for one in known:
            if one.id == token_id:
                return one
        raise NotFound("no such token")

    made = Verifier(find, required=required)
    if now is not None:
        made._now = lambda: now
    return made


async def test_a_signed_question_is_opened_and_its_answer_signed() -> None:
    signer = Signer(BEARER)
    body, key = await verifier(token()).opened("take", signer.sign("take", b"hello"))
    assert body == b"hello"
    assert signer.answered("take", closed("take", b"there", key)) == b"there"


async def test_an_answer_that_was_altered_or_not_signed_is_refused() -> None:
    signer = Signer(BEARER)
    _, key = await verifier(token()).opened("take", signer.sign("take", b"hello"))
    for answer in (closed("take", b"there", key) + b"!", closed("report", b"there", key), b"\0there"):
        with pytest.raises(RequestError):
            signer.answered("take", answer)


@pytest.mark.parametrize(
    "message",
    [
        b"\0hello",
        b"",
        b"\1",
        Signer(BEARER).sign("take", b"hello") + b"!",
        Signer(BEARER).sign("report", b"hello"),
        Signer(spelled(ID, "t" * 43)).sign("take", b"hello"),
        Signer(spelled("f" * 16, SECRET)).sign("take", b"hello"),
    ],
    ids=["plain", "nothing", "cut off", "altered", "for another", "wrong secret", "unknown token"],
)
async def test_what_is_not_signed_by_a_known_token_is_refused(message: bytes) -> None:
    with pytest.raises(RequestError):
        await verifier(token()).opened("take", message)


@pytest.mark.parametrize(
    ("known", "now"),
    [
        (token(scopes=["admin"]), None),
        (token(expires_at=1), None),
        (token(), 1.0),
    ],
)
async def test_a_token_of_another_scope_an_old_one_and_an_old_message_are_refused(
    known: AccessToken, now: float | None
) -> None:
    with pytest.raises(RequestError):
        await verifier(known, now=now).opened("take", Signer(BEARER).sign("take", b"hello"))


async def test_where_no_token_is_required_everyone_is_heard() -> None:
    open_door = verifier(required=False)
    assert await open_door.opened("take", Signer(None).sign("take", b"hello")) == (b"hello", None)
    assert await open_door.opened("take", Signer(BEARER).sign("take", b"hello")) == (b"hello", None)


def test_a_text_that_is_no_token_is_refused_at_once() -> None:
    with pytest.raises(RequestError):
        Signer("secret")


async def test_tokens_that_were_never_seen_are_looked_up_so_many_at_a_time() -> None:
    """Whoever is known goes on meanwhile."""
    looked: list[str] = []
    full, go_on = asyncio.Event(), asyncio.Event()

    async def find(token_id: str) -> AccessToken:
        looked.append(token_id)
        if token_id == ID:
            return token()
        if len(looked) > STRANGERS_MOST:
            full.set()
        await go_on.wait()
        raise NotFound("no such token")

    made = Verifier(find, required=True)
    own = Signer(BEARER).sign("take", b"hello")
    assert (await made.opened("take", own))[0] == b"hello"
    strangers = [Signer(spelled(f"{n:016x}", SECRET)).sign("take", b"") for n in range(STRANGERS_MOST + 5)]
    waiting = asyncio.gather(*(made.opened("take", one) for one in strangers), return_exceptions=True)
    await full.wait()
    made._known[ID] = (0.0, token())  # to be looked up again
    assert (await made.opened("take", own))[0] == b"hello"
    go_on.set()
    kinds = [type(outcome) for outcome in await waiting]
    assert kinds == [RequestError] * STRANGERS_MOST + [BackendError] * 5
    assert len(looked) == STRANGERS_MOST + 2
    with pytest.raises(RequestError):
        await made.opened("take", strangers[0])


async def test_what_cannot_be_the_id_of_a_token_is_not_looked_up() -> None:
    async def find(token_id: str) -> AccessToken:
        raise AssertionError(token_id)

    with pytest.raises(RequestError):
        await Verifier(find, required=True).opened("take", b"\1\3abc" + b"x" * 100)
