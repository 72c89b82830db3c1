"""Mail as a task: what is handed in to a real server, and what a refusal becomes."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from noetl import tools
from noetl.adapters.notify.smtp import Smtp
from noetl.ports.mail import MAIL_SERVER
from noetl.ports.network import PUBLIC_ONLY
from tests.fork_server import FORK_SERVER
from tests.mail_server import MailServer, certificate_for, mail_server

MAIL: dict[str, Any] = {"to": "Ann <ann@example.com>", "subject": "Sold", "text": "Twelve."}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> str:
    return certificate_for("127.0.0.1", tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(certificate, monkeypatch) -> str:
    monkeypatch.setenv("SSL_CERT_FILE", certificate)
    return certificate


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as started:
        yield started


@pytest.fixture(autouse=True)
def way_out(resources) -> None:
    resources.give(MAIL_SERVER, Smtp())


async def test_a_mail_reaches_everybody_and_bcc_is_seen_by_nobody(use, server):
    mail = {
        **MAIL,
        "cc": ["bob@example.com", "ann@example.com"],
        "bcc": "eve@example.com",
        "reply_to": "desk@example.com",
        "from": "Shop <shop@example.org>",
        "html": "<b>Twelve.</b>",
    }
    output = await use("email", mail, auth=server.account())
    [received] = server.mails
    assert output["data"] == {
        "message_id": "<key-1@example.org>",
        "accepted": ["ann@example.com", "bob@example.com", "eve@example.com"],
        "refused": {},
    }
    assert server.recipients == [["ann@example.com", "bob@example.com", "eve@example.com"]]
    assert {name: received[name] for name in ("From", "To", "Cc", "Bcc", "Reply-To", "Message-ID")} == {
        "From": "Shop <shop@example.org>",
        "To": "Ann <ann@example.com>",
        "Cc": "bob@example.com, ann@example.com",
        "Bcc": None,
        "Reply-To": "desk@example.com",
        "Message-ID": "<key-1@example.org>",
    }
    plain, html = received.get_body(("plain",)), received.get_body(("html",))
    assert plain is not None
    assert html is not None
    assert (plain.get_content(), html.get_content()) == ("Twelve.\r\n", "<b>Twelve.</b>\r\n")


async def test_a_mail_may_be_html_alone_and_in_any_script(use, server):
    mail = {"to": "ann@example.com", "subject": "Grüße ☕", "html": "<p>茶</p>"}
    await use("email", mail, auth=server.account())
    [received] = server.mails
    assert (received["Subject"], received.get_content_type()) == ("Grüße ☕", "text/html")
    assert received.get_content() == "<p>茶</p>\r\n"


async def test_attachments_are_values_files_and_what_references_stand_for(use, server, payloads, tmp_path):
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\0")
    rows = await payloads.put([{"item": "tea", "sold": 12}])
    stored = await use("object", {"action": "put", "store": ".", "key": "raw.bin", "content": base64.b64encode(b"\0\1").decode(), "format": "bytes"})  # fmt: skip
    attachments = [
        {"filename": "sold.csv", "content": rows},
        {"filename": "note.txt", "content": "a note"},
        {"filename": "logo.png", "path": "logo.png"},
        {"filename": "raw.dat", "content": stored["ref"]},
        {"filename": "more", "content": {"a": 1}, "content_type": "application/json"},
    ]
    output = await use("email", {**MAIL, "attachments": attachments}, auth=server.account())
    assert output["status"] == "ok", output
    parts = {part.get_filename(): part for part in server.mails[0].iter_attachments()}
    assert {name: part.get_content_type() for name, part in parts.items()} == {
        "sold.csv": "text/csv",
        "note.txt": "text/plain",
        "logo.png": "image/png",
        "raw.dat": "application/octet-stream",
        "more": "application/json",
    }
    sent = {name: part.get_payload(decode=True) for name, part in parts.items()}
    assert sent["sold.csv"] == b"item,sold\ntea,12\n"
    assert sent["note.txt"] == b"a note"
    assert sent["logo.png"] == b"\x89PNG\0"
    assert sent["raw.dat"] == b"\0\1"
    assert json.loads(sent["more"]) == {"a": 1}


@pytest.mark.parametrize(
    ("more", "kind", "says"),
    [
        ({"to": "nobody"}, "input", "'nobody' is no address"),
        ({"to": "a@example.com\r\nBcc: b@example.com"}, "input", "is no address"),
        ({"to": []}, "input", "this one to 0"),
        ({"to": [f"a{number}@example.com" for number in range(1001)]}, "input", "this one to 1001"),
        ({"subject": "a\nBcc: b@example.com"}, "input", "'subject'"),
        ({"text": None}, "input", "'text' or 'html'"),
        ({"attachments": [{"filename": "a"}]}, "input", "exactly one of content and path"),
        ({"attachments": [{"filename": "a\nb", "content": "x"}]}, "input", "no file of a mail"),
        (
            {"attachments": [{"filename": "a", "content": "x", "content_type": "x"}]},
            "input",
            "no file of a mail",
        ),
        ({"attachments": [{"filename": "a", "path": "gone.txt"}]}, "not_found", "gone.txt"),
        ({"attachments": [{"filename": "a", "path": "/etc/passwd"}]}, "path", "outside the allowed folders"),
        ({"attachments": [{"filename": "a", "content": "x" * 3000}]}, "too_large", "raise spec.max_bytes"),
        ({"attachments": [{"filename": "a", "path": "large"}]}, "too_large", "raise spec.max_bytes"),
    ],
)
async def test_a_mail_that_cannot_be_sent_is_never_begun(use, server, tmp_path, more, kind, says):
    (tmp_path / "large").write_bytes(b"x" * 3000)
    output = await use("email", {**MAIL, **more}, auth=server.account(), spec={"max_bytes": 2000})
    assert output["error"]["kind"] == kind
    assert says in output["error"]["message"]
    assert server.recipients == []


@pytest.mark.parametrize(
    ("answer", "retryable"), [("451 try again later", True), ("552 the mailbox is full", False)]
)
async def test_a_server_that_does_not_take_the_mail_says_whether_it_may_later(use, server, answer, retryable):
    server.answer = answer
    error = (await use("email", MAIL, auth=server.account()))["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("email", answer[:3], retryable)
    assert answer[4:] in error["message"]


async def test_refused_recipients_are_named_and_the_others_have_the_mail(use, server):
    server.refused = {"bob@example.com": "550 nobody here"}
    output = await use("email", {**MAIL, "cc": "bob@example.com"}, auth=server.account())
    assert (output["error"]["kind"], output["error"]["code"]) == ("email", "refused")
    assert output["data"]["refused"] == {"bob@example.com": "550 nobody here"}
    assert server.recipients == [["ann@example.com"]]
    everybody = (await use("email", {**MAIL, "to": "bob@example.com"}, auth=server.account()))["error"]
    assert (everybody["kind"], everybody["code"], everybody["retryable"]) == ("email", "550", False)
    assert len(server.mails) == 1


async def test_a_login_goes_over_tls_and_a_wrong_password_is_an_error_of_auth(use, trusted):
    with mail_server("starttls", trusted, password="right") as started:
        account = started.account(security="starttls", username="shop", password="right")
        assert (await use("email", MAIL, auth=account))["status"] == "ok"
        error = (await use("email", MAIL, auth={**account, "password": "wrong"}))["error"]
    assert (error["kind"], error["code"], error["retryable"]) == ("auth", "535", False)
    assert list(dict.fromkeys(started.logins)) == [("shop", "right"), ("shop", "wrong")]
    assert started.encrypted == [True]


async def test_a_server_may_speak_tls_from_the_start(use, trusted):
    with mail_server("tls", trusted) as started:
        assert (await use("email", MAIL, auth=started.account(security="tls")))["status"] == "ok"
    assert started.encrypted == [True]


async def test_a_certificate_that_nobody_knows_is_refused(use, certificate):
    with mail_server("starttls", certificate) as started:
        error = (await use("email", MAIL, auth=started.account(security="starttls")))["error"]
    assert error["kind"] == "tls"
    assert started.mails == []


async def test_where_there_is_no_server_a_retry_may_help(use, server):
    account = server.account(port=1)
    error = (await use("email", MAIL, auth=account))["error"]
    assert (error["kind"], error["retryable"]) == ("connect", True)
    error = (await use("email", MAIL, auth={**account, "host": "no-such-host.invalid"}))["error"]
    assert (error["kind"], error["retryable"]) == ("dns", True)


async def test_mail_goes_to_allowed_addresses_alone(use, server):
    error = (await use("email", MAIL, auth=server.account(), network=PUBLIC_ONLY))["error"]
    assert error["kind"] == "network"
    assert "NOETL_ALLOW_NETWORKS=loopback would" in error["message"]


async def test_a_task_without_an_account_is_told_what_it_lacks(use):
    error = (await use("email", MAIL))["error"]
    assert (error["kind"], error["message"]) == (
        "auth",
        "the credential needs 'host' and 'from' to hand mail in",
    )


def test_the_example_is_sent_by_a_run(tmp_path: Path, server):
    (tmp_path / "email.yaml").write_text(tools.kinds()["email"].example)
    environment = {"PATH": "/usr/bin:/bin", "NOETL_HOME": str(tmp_path / "home")}
    account = server.account(**{"from": "Shop <shop@example.com>"})
    fields = [word for name, value in account.items() for word in ("--field", f"{name}={value}")]
    kept = FORK_SERVER.run(["credential", "set", "mailbox", *fields], tmp_path, environment)
    assert kept.returncode == 0, kept.stderr
    done = FORK_SERVER.run(["run", "email.yaml", "--json"], tmp_path, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    [received] = server.mails
    assert received["Message-ID"] == json.loads(done.stdout)["output"]["message_id"]
    assert (received["From"], received["Subject"]) == ("Shop <shop@example.com>", "What was sold")
    [attached] = received.iter_attachments()
    assert attached.get_payload(decode=True) == b"item,sold\ntea,12\n"
