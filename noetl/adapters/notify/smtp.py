"""Mail handed in over SMTP, to a server whose address is checked before it is connected to.

The library is loaded when the first mail is sent.
"""

import asyncio
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from noetl.ports.mail import MailAccount, not_handed_in
from noetl.ports.network import Network, class_of

if TYPE_CHECKING:
    from email.message import EmailMessage
    from smtplib import SMTP

TIMEOUT_S = 10.0
ANSWER_CHARS = 200


class Smtp:
    """Hands each mail in over a connection of its own."""

    async def hand_in(
        self, account: MailAccount, mail: "EmailMessage", recipients: Sequence[str], network: Network
    ) -> Mapping[str, str]:
        return await asyncio.to_thread(_handed_in, account, mail, recipients, network)

    async def close(self) -> None:
        """Nothing is kept open."""


def _handed_in(
    account: MailAccount, mail: "EmailMessage", recipients: Sequence[str], network: Network
) -> Mapping[str, str]:
    from smtplib import SMTPAuthenticationError, SMTPException, SMTPRecipientsRefused, SMTPResponseException

    trust = None if account.security == "none" else _trust(account)
    try:
        with (
            closing(_reached(account, network)) as connection,
            closing(_connected(account, connection, trust)) as server,
        ):
            if account.security == "starttls":
                server.starttls(context=trust)
            if account.username is not None:
                server.login(account.username, account.password)
            mail["Date"] = datetime.now(UTC)
            refused = server.send_message(mail, to_addrs=list(recipients))
            with suppress(SMTPException):  # it has the mail
                server.quit()
    except SMTPRecipientsRefused as error:
        refused = error.recipients
        status = max((code for code, _ in refused.values()), default=None)
        raise not_handed_in("email", _nobody(account, _answers(refused)), status) from None
    except SMTPResponseException as error:
        kind = "auth" if isinstance(error, SMTPAuthenticationError) else "email"
        said = f"answered {error.smtp_code}: {_text(error.smtp_error)}"
        if kind == "auth":
            said = f"does not take the credential's username and password: it {said}"
        raise not_handed_in(kind, f"{account.host} {said}", error.smtp_code) from None
    except (SMTPException, OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        message = f"{account.host} does not take the mail: {what[:ANSWER_CHARS]}{_hint(error)}"
        raise not_handed_in(_kind(error), message) from None
    return _answers(refused)


def _hint(error: Exception) -> str:
    """What to look at when sides wait for each other, speak TLS and not, or one is not believed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return "; the credential's 'ca', or SSL_CERT_FILE where noetl runs, is whom it believes"
    mute = isinstance(error, TimeoutError | ssl.SSLError) or "timed out" in str(error)
    return "; look at the credential's 'port' and 'security'" if mute else ""


def _answers(refused: Mapping[str, tuple[int, bytes]]) -> Mapping[str, str]:
    return {recipient: f"{code} {_text(answer)}" for recipient, (code, answer) in sorted(refused.items())}


def _nobody(account: MailAccount, refused: Mapping[str, str]) -> str:
    told = "; ".join(f"{recipient}: {answer}" for recipient, answer in refused.items())
    return f"{account.host} does not take mail for {told[: 3 * ANSWER_CHARS]}"


def _text(answer: bytes | str) -> str:
    return (answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer))[:ANSWER_CHARS]


def _kind(error: Exception) -> str:
    from smtplib import SMTPServerDisconnected

    for raised, kind in (
        (ssl.SSLError, "tls"),
        (socket.gaierror, "dns"),
        (TimeoutError, "timeout"),
        (OSError, "connect"),
        (SMTPServerDisconnected, "connect"),
    ):
        if isinstance(error, raised):
            return kind
    return "email"


def _reached(account: MailAccount, network: Network) -> socket.socket:
    """A connection to an address that may be reached."""
    found = socket.getaddrinfo(account.host, account.port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    allowed = [address for address in addresses if network.allows(address)]
    if not allowed:
        kind = class_of(addresses[0])
        raise not_handed_in(
            "network",
            f"{account.host} leads to {addresses[0]}, a {kind.replace('_', '-')} address, which this "
            f"deployment does not let mail reach; NOETL_ALLOW_NETWORKS={kind} would",
        )
    return socket.create_connection((allowed[0], account.port), TIMEOUT_S)


def _trust(account: MailAccount) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cadata=account.authority)
    except (ssl.SSLError, ValueError) as problem:
        raise not_handed_in("auth", f"the credential's 'ca' cannot be read: {problem}") from None


def _connected(account: MailAccount, connection: socket.socket, trust: ssl.SSLContext | None) -> "SMTP":
    """A session over a connection that is there already."""
    from smtplib import SMTP, SMTP_SSL

    class Over(SMTP):
        def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
            return connection

    class OverTls(SMTP_SSL):
        def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
            return self.context.wrap_socket(connection, server_hostname=account.host)

    if account.security == "tls":
        return OverTls(account.host, account.port, timeout=TIMEOUT_S, context=trust)
    return Over(account.host, account.port, timeout=TIMEOUT_S)
