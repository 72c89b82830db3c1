"""Mail over SMTP, to a server whose address is checked before it is connected to."""

import asyncio
import socket
import ssl
from collections.abc import Mapping
from contextlib import closing, suppress
from email.message import EmailMessage
from smtplib import SMTP, SMTP_SSL, SMTPException, SMTPResponseException
from typing import Literal, NamedTuple, cast, get_args

from noetl.adapters.notify.chat import facts_of
from noetl.json_value import Json
from noetl.ports.network import Network, class_of
from noetl.ports.notification import NotDelivered, NotificationMessage

TIMEOUT_S = 10.0
SUBJECT_LENGTH = 150
Security = Literal["starttls", "tls", "none"]
PORTS: Mapping[Security, int] = {"starttls": 587, "tls": 465, "none": 25}


class _Account(NamedTuple):
    """How mail is handed in."""

    host: str
    port: int
    security: Security
    sender: str
    username: str | None
    password: str


class Mail:
    """Sends what is told as mail."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Hand it in once."""
        account = _account(material)
        recipients = [each.strip() for each in (address or "").split(",")]
        mail = mail_of(message, account.sender, recipients)
        return await asyncio.to_thread(self._hand_in, account, mail, recipients)

    def _hand_in(self, account: _Account, mail: EmailMessage, recipients: list[str]) -> int:
        try:
            with (
                closing(_reached(account, self._network)) as connection,
                closing(_connected(account, connection)) as server,
            ):
                if account.security == "starttls":
                    server.starttls(context=ssl.create_default_context())
                if account.username is not None:
                    server.login(account.username, account.password)
                refused = server.send_message(mail, to_addrs=recipients)
                with suppress(SMTPException):  # it has the mail
                    server.quit()
        except SMTPResponseException as error:
            answer = error.smtp_error
            text = answer.decode(errors="replace") if isinstance(answer, bytes) else str(answer)
            raise NotDelivered(
                f"{account.host} answered {error.smtp_code}: {text[:200]}", status=error.smtp_code
            ) from None
        except (SMTPException, OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            raise NotDelivered(f"{account.host} does not take the mail: {what[:200]}") from None
        if refused:
            raise NotDelivered(f"{account.host} does not take mail for {', '.join(sorted(refused))}")
        return 250


def mail_of(message: NotificationMessage, sender: str, recipients: list[str]) -> EmailMessage:
    """The mail; its id is that of the delivery, so that a repeat can be message."""
    mail = EmailMessage()
    subject = "".join(each if each.isprintable() else " " for each in message.text)
    mail["Subject"] = f"[noetl] {subject}"[:SUBJECT_LENGTH]
    mail["From"], mail["To"] = sender, ", ".join(recipients)
    mail["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2].rstrip('>')}>"
    mail["X-Noetl-Delivery"] = message.id
    facts = "\n".join(f"{name}: {value}" for name, value in facts_of(message))
    link = f"\n\n{message.url}" if message.url else ""
    mail.set_content(f"{message.text}\n\n{facts}{link}\n")
    return mail


def _account(material: Mapping[str, Json]) -> _Account:
    host, sender, security = material.get("host"), material.get("from"), material.get("security", "starttls")
    if not isinstance(host, str) or not isinstance(sender, str) or "@" not in sender:
        raise NotDelivered("the credential needs 'host' and 'from' to hand mail in")
    if security not in get_args(Security):
        raise NotDelivered(f"the credential's 'security' is one of {', '.join(get_args(Security))}")
    secured = cast("Security", security)
    port = material.get("port") or PORTS[secured]
    if not str(port).isdecimal() or not 0 < int(str(port)) < 65536:
        raise NotDelivered("the credential's 'port' is no port")
    username, password = material.get("username"), material.get("password")
    if username is not None and secured == "none":
        raise NotDelivered(
            "a password is not sent without TLS; let the credential's 'security' be starttls or tls"
        )
    name = None if username is None else str(username)
    return _Account(host, int(str(port)), secured, sender, name, str(password or ""))


def _reached(account: _Account, network: Network) -> socket.socket:
    """A connection to an address that may be reached."""
    found = socket.getaddrinfo(account.host, account.port, type=socket.SOCK_STREAM)
    addresses = [str(each[4][0]) for each in found]
    allowed = [address for address in addresses if network.allows(address)]
    if not allowed:
        kind = class_of(addresses[0])
        raise NotDelivered(
            f"{account.host} leads to {addresses[0]}, a {kind.replace('_', '-')} address, which this "
            f"deployment does not let notifications reach; NOETL_ALLOW_NETWORKS={kind} would"
        )
    return socket.create_connection((allowed[0], account.port), TIMEOUT_S)


def _connected(account: _Account, connection: socket.socket) -> SMTP:
    """A session over a connection that is there already."""

    class Over(SMTP):
        def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
            return connection

    class OverTls(SMTP_SSL):
        def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
            return self.context.wrap_socket(connection, server_hostname=account.host)

    if account.security == "tls":
        context = ssl.create_default_context()
        return OverTls(account.host, account.port, timeout=TIMEOUT_S, context=context)
    return Over(account.host, account.port, timeout=TIMEOUT_S)
