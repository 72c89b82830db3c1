"""What is said on the bus is signed: forged, altered, repeated, expired and foreign messages are refused."""

import asyncio

import pytest

from noetl.adapters.nats.signing import (
    FRESH_MS,
    STRANGERS_MOST,
    NoticeSigner,
    Question,
    SignatureError,
    Signer,
    Verifier,
)
from noetl.errors import BackendError, NotFound, RequestError
from noetl.ports.bearer import digest, spelled
from noetl.ports.store import AccessToken

SECRET = "s" * 43
ID = "0123456789abcdef"
BEARER = spelled(ID, SECRET)
KEY = bytes.fromhex(digest(SECRET))
TAKE, REPORT = "noetl.server.a.take", "noetl.server.a.report"
NOW = 1_700_000_000_000


def token(**more: object) -> AccessToken:
    given = {"id": ID, "hash": digest(SECRET), "name": "w", "scopes": ["worker"], **more}
    return AccessToken(**given)  # type: ignore[arg-type]


def signer(bearer: str | None = BEARER, now: int = NOW) -> Signer:
    return Signer(bearer, lambda: now)


def verifier(*known: AccessToken, required: bool = True, now: int = NOW) -> Verifier:
    async def find(token_id: str) -> AccessToken:
        for one in known:
            if one.id == token_id:
                return one
        raise NotFound("no such token")

    return Verifier(find, required=required, now=lambda: now)


async def heard(door: Verifier, message: bytes, subject: str = TAKE) -> Question:
    question = await door.open(subject, message)
    door.check(question)
    return question


async def test_a_signed_question_is_opened_and_its_answer_signed() -> None:
    worker = signer()
    request = worker.sign(TAKE, b"hello")
    question = await heard(verifier(token()), request.message)
    assert (question.body, question.key) == (b"hello", KEY)
    assert worker.open_answer(request, question.sign(b"there", NOW)) == b"there"


async def test_an_answer_is_good_for_its_own_question_alone() -> None:
    """An old answer that is said again to a later question is not believed."""
    worker, door = signer(), verifier(token())
    first, second = worker.sign(TAKE, b"hello"), worker.sign(TAKE, b"hello")
    answer = (await heard(door, first.message)).sign(b"there", NOW)
    assert worker.open_answer(first, answer) == b"there"
    with pytest.raises(SignatureError):
        worker.open_answer(second, answer)


async def test_an_answer_that_was_altered_or_not_signed_is_refused() -> None:
    worker = signer()
    request = worker.sign(TAKE, b"hello")
    answer = (await heard(verifier(token()), request.message)).sign(b"there", NOW)
    foreign = Question(b"", None, b"other key", b"", request.mac).sign(b"there", NOW)
    later = answer[:1] + bytes(8) + answer[9:]
    for wrong in (answer + b"!", later, foreign, b"\0there", b"\1", b""):
        with pytest.raises(SignatureError):
            worker.open_answer(request, wrong)


@pytest.mark.parametrize(
    "message",
    [
        b"\0hello",
        b"",
        b"\1",
        signer().sign(TAKE, b"hello").message + b"!",
        signer().sign(REPORT, b"hello").message,
        signer().sign("noetl.server.b.take", b"hello").message,
        signer(spelled(ID, "t" * 43)).sign(TAKE, b"hello").message,
        signer(spelled("f" * 16, SECRET)).sign(TAKE, b"hello").message,
    ],
    ids=[
        "plain",
        "nothing",
        "cut off",
        "altered",
        "asks something else",
        "for another server",
        "wrong secret",
        "unknown token",
    ],
)
async def test_what_is_not_signed_by_a_known_token_is_refused(message: bytes) -> None:
    with pytest.raises(RequestError):
        await verifier(token()).open(TAKE, message)


@pytest.mark.parametrize("known", [token(scopes=["admin"]), token(expires_at=1)])
async def test_a_token_of_another_scope_and_an_expired_one_are_refused_with_a_signature(
    known: AccessToken,
) -> None:
    """Whoever asked can be sure that the refusal is the server's."""
    door, worker = verifier(known), signer()
    request = worker.sign(TAKE, b"hello")
    question = await door.open(TAKE, request.message)
    with pytest.raises(RequestError):
        door.check(question)
    assert worker.open_answer(request, question.sign(b"no", NOW)) == b"no"


async def test_a_message_is_heard_once() -> None:
    door, worker = verifier(token()), signer()
    messages = [worker.sign(TAKE, b"%d" % number).message for number in range(5)]
    for place in (3, 0, 4, 1):  # messages overtake each other
        await heard(door, messages[place])
    for message in messages[:2] + messages[3:]:
        with pytest.raises(BackendError, match="heard before"):
            await heard(door, message)
    assert (await heard(door, messages[2])).body == b"2"


async def test_an_old_message_of_a_session_that_nobody_knows_is_refused() -> None:
    """A server that has just started cannot know what others have heard before."""
    message = signer().sign(TAKE, b"hello").message
    with pytest.raises(BackendError, match="too long ago"):
        await heard(verifier(token(), now=NOW + FRESH_MS + 1), message)
    assert (await heard(verifier(token(), now=NOW + FRESH_MS), message)).body == b"hello"


async def test_a_clock_that_is_wrong_is_put_right_by_the_answer() -> None:
    door, worker = verifier(token(), now=NOW + 3_600_000), signer()
    request = worker.sign(TAKE, b"hello")
    question = await door.open(TAKE, request.message)
    with pytest.raises(BackendError):
        door.check(question)
    worker.open_answer(request, question.sign(b"no", door.now()))
    assert (await heard(door, worker.sign(TAKE, b"again").message)).body == b"again"


async def test_a_known_session_goes_on_when_a_clock_jumps() -> None:
    now, worker = NOW, signer()

    async def find(token_id: str) -> AccessToken:
        return token()

    door = Verifier(find, required=True, now=lambda: now)
    await heard(door, worker.sign(TAKE, b"hello").message)
    now += 3_600_000
    assert (await heard(door, worker.sign(TAKE, b"again").message)).body == b"again"


def test_a_notice_is_believed_once_and_by_its_own_worker() -> None:
    worker, server = signer(), NoticeSigner(lambda: NOW)
    notice = server.sign("noetl.worker.w", b"stop", KEY)
    other = server.sign("noetl.worker.x", b"stop", KEY)
    assert worker.open_notice("noetl.worker.w", notice) == b"stop"
    for wrong in (notice, other, b"\0stop", notice + b"!", server.sign("noetl.worker.w", b"stop", b"key")):
        with pytest.raises(SignatureError):
            worker.open_notice("noetl.worker.w", wrong)
    with pytest.raises(SignatureError):
        signer(now=NOW + FRESH_MS + 1).open_notice("noetl.worker.w", notice)


async def test_where_no_token_is_required_everyone_is_heard() -> None:
    open_door = verifier(required=False)
    for worker in (signer(None), signer()):
        request = worker.sign(TAKE, b"hello")
        question = await heard(open_door, request.message)
        assert (question.body, question.key) == (b"hello", None)
    assert signer(None).open_answer(request, question.sign(b"there", NOW)) == b"there"
    assert signer(None).open_notice("w", NoticeSigner().sign("w", b"there", None)) == b"there"


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
    own = Signer(BEARER).sign(TAKE, b"hello").message
    assert (await made.open(TAKE, own)).body == b"hello"
    strangers = [
        Signer(spelled(f"{n:016x}", SECRET)).sign(TAKE, b"").message for n in range(STRANGERS_MOST + 5)
    ]
    waiting = asyncio.gather(*(made.open(TAKE, one) for one in strangers), return_exceptions=True)
    await full.wait()
    made._known[ID] = (0.0, token())  # to be looked up again
    assert (await made.open(TAKE, own)).body == b"hello"
    go_on.set()
    kinds = [type(outcome) for outcome in await waiting]
    assert kinds == [RequestError] * STRANGERS_MOST + [BackendError] * 5
    assert len(looked) == STRANGERS_MOST + 2
    with pytest.raises(RequestError):
        await made.open(TAKE, strangers[0])


async def test_what_cannot_be_the_id_of_a_token_is_not_looked_up() -> None:
    async def find(token_id: str) -> AccessToken:
        raise AssertionError(token_id)

    with pytest.raises(RequestError):
        await Verifier(find, required=True).open(TAKE, b"\1\3abc" + b"x" * 100)
