"""Mail: the account that it is handed in with, and who hands it in. Connecting is an adapter's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, cast, get_args

from noetl.errors import BackendError
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.network import Network

if TYPE_CHECKING:
    from email.message import EmailMessage

Security = Literal["starttls", "tls", "none"]
PORTS: Mapping[Security, int] = {"starttls": 587, "tls": 465, "none": 25}
MAIL_SERVER = "mail_server"  # the resource name under which the worker gives its way to hand mail in


class MailAccount(NamedTuple):
    """How mail is handed in."""

    host: str
    port: int
    security: Security
    sender: str
    username: str | None
    password: str
    authority: str | None = None  # certificates that vouch for the server's, in place of the usual ones


def not_handed_in(kind: str, message: str, status: int | None = None) -> Failed:
    """The failure of a mail that was not taken; a server says by its answer whether it may be later."""
    passing = kind in ("connect", "dns", "timeout") if status is None else status < 500
    code = None if status is None else str(status)
    return Failed(kind, message, code=code, retryable=passing, answered=status is not None)


class MailServer(Protocol):
    """Hands mail in."""

    async def hand_in(
        self, account: MailAccount, mail: "EmailMessage", recipients: Sequence[str], network: Network
    ) -> Mapping[str, str]:
        """Hand a mail in once; who of the recipients was refused, and why. Raises Failed."""

    async def close(self) -> None:
        """Let go of what it holds."""


def no_mail_server() -> MailServer:
    """What a tool says of a worker that was given none."""
    raise BackendError("this worker cannot send mail", hint="it has no mail server")


def account_of(material: Mapping[str, Json]) -> MailAccount:
    """The account that a credential is; Failed (kind `auth`) says what it lacks."""
    host, sender, security = material.get("host"), material.get("from"), material.get("security", "starttls")
    if not isinstance(host, str) or not isinstance(sender, str) or "@" not in sender:
        raise Failed("auth", "the credential needs 'host' and 'from' to hand mail in")
    if security not in get_args(Security):
        raise Failed("auth", f"the credential's 'security' is one of {', '.join(get_args(Security))}")
    secured = cast("Security", security)
    port = material.get("port") or PORTS[secured]
    if not str(port).isdecimal() or not 0 < int(str(port)) < 65536:
        raise Failed("auth", "the credential's 'port' is no port")
    username, password = material.get("username"), material.get("password")
    if username is not None and secured == "none":
        message = "a password is not sent without TLS; let the credential's 'security' be starttls or tls"
        raise Failed("auth", message)
    name = None if username is None else str(username)
    authority = None if material.get("ca") is None else str(material["ca"])
    return MailAccount(host, int(str(port)), secured, sender, name, str(password or ""), authority)


def message_id(key: str, sender: str) -> str:
    """The id of a mail: the same for the same key, so that whoever receives a repeat can tell."""
    return f"<{key}@{sender.rpartition('@')[2].rstrip('>')}>"
