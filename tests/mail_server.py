"""A real mail server on the loopback interface, in a thread of its own, that keeps what it is sent."""

import asyncio
import datetime
import ipaddress
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Literal

from aiosmtpd.smtp import SMTP, AuthResult

LONG = 60.0
Security = Literal["starttls", "tls", "none"]


@dataclass
class MailServer:
    """What was received, and what is refused: an answer by recipient, or to the mail itself."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)
    recipients: list[list[str]] = field(default_factory=list)  # of each mail, as they were handed in
    logins: list[tuple[str, str]] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)  # whether each mail came over TLS
    refused: dict[str, str] = field(default_factory=dict)  # by recipient
    answer: str = "250 taken"
    password: str | None = None  # a login is needed, with this one

    def account(self, **more: Any) -> dict[str, Any]:
        """A credential for it."""
        own = {"host": "127.0.0.1", "port": self.port, "from": "noetl@example.com", "security": "none"}
        return {**own, **more}

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address in self.refused:
            return self.refused[address]
        envelope.rcpt_tos.append(address)
        return "250 fine"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        if self.answer.startswith("250"):
            self.mails.append(message_from_bytes(envelope.content, policy=policy.default))
            self.recipients.append(list(envelope.rcpt_tos))
            self.encrypted.append(server.transport.get_extra_info("sslcontext") is not None)
        return self.answer

    def authenticate(self, server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        login = (data.login.decode(), data.password.decode())
        self.logins.append(login)
        return AuthResult(success=login[1] == self.password, handled=False)


async def let_go(loop: Any) -> None:
    """Close what whoever was served may have left open, so that nothing of it is found by a later test."""
    for transport in list(loop._transports.values()):
        transport.abort()
    for _ in range(4):  # what closes says so in the turns after
        await asyncio.sleep(0)


@contextmanager
def mail_server(
    security: Security = "none", certificate: str | None = None, password: str | None = None
) -> Iterator[MailServer]:
    """A server; with TLS it shows the certificate of a file, and without it refuses mail over `starttls`."""
    kept = MailServer(password=password)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    if certificate is not None:
        context.load_cert_chain(certificate)
    loop, listening, ended = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    def session() -> SMTP:
        with warnings.catch_warnings():  # of TLS that began before SMTP it does not know
            warnings.simplefilter("ignore")
            return SMTP(
                kept, hostname="localhost", loop=loop, auth_required=password is not None,
                auth_require_tls=security != "tls", authenticator=kept.authenticate,
                tls_context=context if security == "starttls" else None,
                require_starttls=security == "starttls",
            )  # fmt: skip

    async def serve() -> None:
        server = await loop.create_server(session, "127.0.0.1", 0, ssl=context if security == "tls" else None)
        async with server:
            kept.port = server.sockets[0].getsockname()[1]
            listening.set()
            await ended.wait()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(serve())
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(let_go(loop))
        loop.close()

    thread = threading.Thread(target=run, name="mail server", daemon=True)
    thread.start()
    assert listening.wait(LONG)
    try:
        yield kept
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(LONG)


def certificate_for(host: str, folder: Path) -> str:
    """A certificate of an address that signs itself, with its key, in a file."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    own = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host)), x509.DNSName("localhost")])
    certificate = (
        x509.CertificateBuilder(subject_name=name, issuer_name=name, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(own, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "cert.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return str(file)
