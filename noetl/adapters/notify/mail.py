"""What is told, as mail. Handing it in is `smtp`'s."""

from collections.abc import Mapping
from email.message import EmailMessage

from noetl.adapters.notify.chat import facts_of
from noetl.adapters.notify.smtp import Smtp
from noetl.json_value import Json
from noetl.ports.envelope import Failed
from noetl.ports.mail import account_of, message_id
from noetl.ports.network import Network
from noetl.ports.notification import NotDelivered, NotificationMessage

SUBJECT_LENGTH = 150
TAKEN = 250


class Mail:
    """Sends what is told as mail."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Hand it in once."""
        recipients = [each.strip() for each in (address or "").split(",")]
        try:
            account = account_of(material)
            mail = mail_of(message, account.sender, recipients)
            refused = await Smtp().hand_in(account, mail, recipients, self._network)
        except Failed as problem:
            code = problem.output["error"]["code"]
            raise NotDelivered(problem.message, status=None if code is None else int(code)) from None
        if refused:
            taken = [each for each in recipients if each not in refused]
            told = "; ".join(f"{recipient}: {answer}" for recipient, answer in refused.items())
            raise NotDelivered(f"{account.host} does not take mail for {told}", taken=taken)
        return TAKEN


def mail_of(message: NotificationMessage, sender: str, recipients: list[str]) -> EmailMessage:
    """The mail; its id is that of the delivery, so that a repeat can be told."""
    mail = EmailMessage()
    subject = "".join(each if each.isprintable() else " " for each in message.text)
    mail["Subject"] = f"[noetl] {subject}"[:SUBJECT_LENGTH]
    mail["From"], mail["To"] = sender, ", ".join(recipients)
    mail["Message-ID"] = message_id(message.id, sender)
    mail["X-Noetl-Delivery"] = message.id
    mail["Auto-Submitted"] = "auto-generated"  # so that nobody's absence is answered to it
    facts = "\n".join(f"{name}: {value}" for name, value in facts_of(message))
    link = f"\n\n{message.url}" if message.url else ""
    mail.set_content(f"{message.text}\n\n{facts}{link}\n")
    return mail
