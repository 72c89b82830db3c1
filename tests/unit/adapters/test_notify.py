"""What chat rooms and mail are sent, and that mail is handed in to a server that takes it."""

import asyncio
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from noetl.adapters.notify import smtp as smtp_adapter
from noetl.adapters.notify.chat import Slack, Teams, slack_message, teams_message
from noetl.adapters.notify.mail import Mail, mail_of
from noetl.ports.network import Network
from noetl.ports.notification import NotDelivered, NotificationMessage
from tests.mail_server import Security, certificate_for, mail_server
from tests.receiver import Receiver, receiving

LONG = 60.0
FAILED = NotificationMessage(
    id="e1-7",
    notification="ops",
    event="failed",
    at="2026-11-16T15:43:51.665Z",
    text="etl/load failed: python: <b> & 'a' (step clean)",
    execution_id="e1",
    path="etl/load",
    version=3,
    status="failed",
    error={"kind": "python", "message": "<b>", "step": "clean"},
    counts={"steps": 4, "failed_iterations": 2},
    duration_ms=1234,
    by="ann",
    url="https://noetl.example.com/executions/e1",
)
HERE = Network(("loopback",))


class SmtpServer:
    """A server of mail that speaks as much of SMTP as is needed to hand one in, and keeps what it was sent."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.said: list[str] = []
        self.mails: list[EmailMessage] = []
        self.refuses: dict[str, str] = {}  # the answer to a command, by its first word
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection, connection.makefile("rwb") as stream:
                self._talk(stream)

    def _talk(self, stream: Any) -> None:
        _say(stream, "220 here")
        for line in stream:
            words = line.decode().strip()
            self.said.append(words)
            verb = words.split()[0].upper()
            if verb == "DATA" and verb not in self.refuses:
                _say(stream, "354 go on")
                self._keep(stream)
            _say(stream, self.refuses.get(verb, "221 bye" if verb == "QUIT" else "250 fine"))
            if verb == "QUIT":
                return

    def _keep(self, stream: Any) -> None:
        body = b""
        for line in stream:
            if line == b".\r\n":
                break
            body += line
        self.mails.append(message_from_bytes(body, policy=policy.default))


def _say(stream: Any, line: str) -> None:
    stream.write(f"{line}\r\n".encode())
    stream.flush()


@pytest.fixture
def smtp() -> Iterator[SmtpServer]:
    server = SmtpServer()
    yield server
    server.close()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as found:
        yield found


def account(server: SmtpServer, **more: Any) -> dict[str, Any]:
    return {"host": "localhost", "port": server.port, "from": "noetl@example.com", "security": "none", **more}


async def test_a_mail_says_what_is_told_and_carries_the_key_of_its_delivery(smtp: SmtpServer) -> None:
    code = await Mail(HERE).send("a@example.com, b@example.com", account(smtp), FAILED)
    [mail] = smtp.mails
    assert code == 250
    assert mail["Subject"] == "[noetl] etl/load failed: python: <b> & 'a' (step clean)"
    assert (mail["From"], mail["To"]) == ("noetl@example.com", "a@example.com, b@example.com")
    assert (mail["Message-ID"], mail["X-Noetl-Delivery"]) == ("<e1-7@example.com>", "e1-7")
    assert mail["Auto-Submitted"] == "auto-generated"
    assert abs(mail["Date"].datetime.timestamp() - time.time()) < LONG
    text = mail.get_content()
    assert "https://noetl.example.com/executions/e1" in text
    assert "playbook: etl/load v3" in text
    assert [line for line in smtp.said if line.lower().startswith("rcpt")] == [
        "rcpt TO:<a@example.com>",
        "rcpt TO:<b@example.com>",
    ]


async def test_a_mail_that_is_not_taken_is_a_failed_attempt(smtp: SmtpServer) -> None:
    smtp.refuses = {"DATA": "451 try again later"}
    with pytest.raises(NotDelivered, match="localhost answered 451: try again later") as refused:
        await Mail(HERE).send("a@example.com", account(smtp), FAILED)
    assert refused.value.status == 451
    smtp.refuses = {"RCPT": "550 nobody here"}
    with pytest.raises(NotDelivered, match=r"does not take mail for a@example\.com: 550 nobody here"):
        await Mail(HERE).send("a@example.com", account(smtp), FAILED)


async def test_tls_is_asked_for_unless_the_credential_says_otherwise(smtp: SmtpServer) -> None:
    for more in ({"security": "starttls"}, {}):
        given = {name: value for name, value in account(smtp).items() if name != "security"} | more
        with pytest.raises(NotDelivered):
            await Mail(HERE).send("a@example.com", given, FAILED)
    assert smtp.mails == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    return certificate_for("127.0.0.1", tmp_path_factory.mktemp("certificate"))


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_mail_is_handed_in_over_tls_after_a_login_and_a_wrong_password_is_said(
    security: Security, certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    with mail_server(security, certificate, password="right") as server:
        login = server.account(security=security, username="noetl", password="right")
        assert await Mail(HERE).send("a@example.com", login, FAILED) == 250
        with pytest.raises(NotDelivered, match="does not take the credential's username and pass") as refused:
            await Mail(HERE).send("a@example.com", {**login, "password": "wrong one"}, FAILED)
        nobody = server.account(security=security)
        with pytest.raises(NotDelivered, match=r"answered 530: .*uthentication required"):
            await Mail(HERE).send("a@example.com", nobody, FAILED)
    assert (refused.value.status, server.encrypted) == (535, [True])
    assert "answered 535" in refused.value.message
    assert "wrong one" not in refused.value.message


async def test_nothing_is_sent_to_a_server_whose_certificate_nobody_vouches_for(certificate: str) -> None:
    with mail_server("tls", certificate, password="right") as server:
        login = server.account(security="tls", username="noetl", password="right")
        with pytest.raises(
            NotDelivered, match=r"certificate verify failed.*; the credential's 'ca', or SSL_C"
        ):
            await Mail(HERE).send("a@example.com", login, FAILED)
        with pytest.raises(NotDelivered, match="the credential's 'ca' cannot be read"):
            await Mail(HERE).send("a@example.com", {**login, "ca": "nobody"}, FAILED)
    assert (server.logins, server.mails) == ([], [])


@pytest.mark.parametrize("security", ["starttls", "tls"])
async def test_a_credential_says_itself_who_vouches_for_its_server(
    security: Security, certificate: str
) -> None:
    with mail_server(security, certificate, password="right") as server:
        login = server.account(security=security, username="noetl", password="right")
        authority = await asyncio.to_thread(Path(certificate).read_text)
        assert await Mail(HERE).send("a@example.com", {**login, "ca": authority}, FAILED) == 250
    assert server.encrypted == [True]


async def test_who_begins_tls_the_other_way_is_told_where_to_look(
    certificate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smtp_adapter, "TIMEOUT_S", 1.0)  # each side waits for the other to speak
    with (
        mail_server("tls", certificate) as server,
        pytest.raises(NotDelivered, match="look at the credential's 'port' and 'security'"),
    ):
        await Mail(HERE).send("a@example.com", server.account(security="starttls"), FAILED)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"host": None}, "needs 'host' and 'from'"),
        ({"from": "nobody"}, "needs 'host' and 'from'"),
        ({"security": "some"}, "'security' is one of"),
        ({"port": "x"}, "is no port"),
        ({"port": 70000}, "is no port"),
        ({"username": "u", "password": "p"}, "a password is not sent without TLS"),
    ],
)
async def test_a_credential_that_cannot_be_used_says_why(
    smtp: SmtpServer, more: dict[str, Any], said: str
) -> None:
    with pytest.raises(NotDelivered, match=said):
        await Mail(HERE).send("a@example.com", account(smtp, **more), FAILED)


async def test_mail_goes_to_allowed_addresses_alone(smtp: SmtpServer) -> None:
    with pytest.raises(NotDelivered, match="NOETL_ALLOW_NETWORKS=loopback would"):
        await Mail(Network(())).send("a@example.com", account(smtp), FAILED)
    assert smtp.said == []


def test_no_text_can_add_a_header_to_a_mail() -> None:
    told = NotificationMessage(
        id="x-1", notification="n", event="failed", at="", text="a\r\nBcc: all@example.com"
    )
    mail = mail_of(told, "noetl@example.com", ["a@example.com"])
    assert mail["Bcc"] is None
    assert mail["Subject"] == "[noetl] a  Bcc: all@example.com"


async def test_slack_is_sent_text_and_blocks_in_which_nothing_is_markup(receiver: Receiver) -> None:
    assert await Slack(aiohttp.TCPConnector).send(None, {"url": f"{receiver.url}/s"}, FAILED) == 200
    [call] = receiver.calls
    assert call.json == slack_message(FAILED)
    assert call.json["text"] == "etl/load failed: python: &lt;b&gt; &amp; 'a' (step clean)"
    section, context = call.json["blocks"]
    assert "<https://noetl.example.com/executions/e1|Open the execution>" in section["text"]["text"]
    shown = context["elements"][0]["text"]
    for fact in (
        "playbook etl/load v3",
        "execution e1",
        "failed iterations 2",
        "took 1.2 s",
        "started by ann",
    ):
        assert fact in shown


async def test_teams_is_sent_an_adaptive_card_with_a_link(receiver: Receiver) -> None:
    assert await Teams(aiohttp.TCPConnector).send(None, {"url": f"{receiver.url}/t"}, FAILED) == 200
    [call] = receiver.calls
    assert call.json == teams_message(FAILED)
    [attachment] = call.json["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert card["body"][0]["text"] == FAILED.text
    assert {"title": "status", "value": "failed"} in card["body"][1]["facts"]
    assert card["actions"][0]["url"] == FAILED.url


async def test_without_pages_there_is_no_link() -> None:
    bare = NotificationMessage(id="sample-1", notification="n", event="sample", at="now", text="a sample")
    assert "actions" not in teams_message(bare)["attachments"][0]["content"]  # type: ignore[index, call-overload, operator]
    assert slack_message(bare)["blocks"][0]["text"]["text"] == "*a sample*"  # type: ignore[index, call-overload]


async def test_the_address_of_a_chat_room_is_in_no_error(receiver: Receiver) -> None:
    receiver.answers = [web.Response(status=403, text="invalid_token")]
    with pytest.raises(NotDelivered, match="answered 403: invalid_token") as refused:
        await Slack(aiohttp.TCPConnector).send(None, {"url": f"{receiver.url}/services/SECRET"}, FAILED)
    assert "SECRET" not in refused.value.message
    with pytest.raises(NotDelivered, match="no field 'url'"):
        await Slack(aiohttp.TCPConnector).send(None, {}, FAILED)
