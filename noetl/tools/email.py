"""Sends a mail, with attachments, through a mail server.

`auth` names the credential of the account: `host` and `from`, and if they are needed `port`, `username`,
`password`, `security` (`starttls`, which is the default, `tls` or `none`) and `ca`, the PEM of whoever
vouches for the server. Certificates are checked, and a password is never sent without TLS. The `Message-ID`
is made of the idempotency key, so that a mail that had to be handed in twice can be told from two mails.

A mail that the server does not take is error kind `email`, the number of its answer is the `code`; it is
`retryable` when the server says that it may take the mail later. A login that is refused is error kind
`auth`. When only some of the recipients are refused, the others have the mail: that is error kind `email`
with the code `refused`, and `data` says who. A mail that is being handed in when its task is cancelled may
still arrive.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import msgspec

from noetl.ports.envelope import Failed
from noetl.ports.mail import MAIL_SERVER, MailAccount, account_of, message_id, no_mail_server
from noetl.ports.tool import Input, Size, Spec, doc
from noetl.tools.parts.function import tool
from noetl.tools.parts.raw_content import RawContent, raw_bytes
from noetl.tools.parts.tool_context import ToolContext

if TYPE_CHECKING:
    from email.headerregistry import Address
    from email.message import EmailMessage

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: email, path: tools/email}
keychain: [{name: mailbox, kind: credential, credential: mailbox}]
workflow:
  - step: start
    tool:
      - name: report
        kind: python
        input: {code: "result = [{'item': 'tea', 'sold': 12}]"}
      - name: send
        kind: email
        auth: mailbox
        input:
          to: [ann@example.com, bob@example.com]
          subject: What was sold
          text: "{{ report.data[0].sold }} of {{ report.data[0].item }}."
          attachments: [{filename: sold.csv, content: "{{ report.data }}"}]
"""

RECIPIENTS_MAX = 1000


class Attachment(RawContent, kw_only=True):
    """A file of the mail."""

    filename: Annotated[str, doc("Its name in the mail.")]
    content_type: Annotated[str | None, doc("Its media type; by default from the name.")] = None


class Mail(Input):
    """What is sent to whom."""

    to: Annotated[str | list[str], doc("Who gets it: addresses, also as `Ann <ann@example.com>`.")]
    subject: Annotated[str, doc("The subject, one line.")]
    text: Annotated[str | None, doc("The mail as plain text.")] = None
    html: Annotated[str | None, doc("The mail as HTML, beside the plain text or instead of it.")] = None
    cc: Annotated[str | list[str], doc("Who gets a copy.")] = ""
    bcc: Annotated[str | list[str], doc("Who gets a copy that the others do not see.")] = ""
    sender: Annotated[str | None, doc("Who sends it; by default the `from` of the credential.")] = (
        msgspec.field(default=None, name="from")
    )
    reply_to: Annotated[str | list[str], doc("Where answers go.")] = ""
    attachments: Annotated[
        list[Attachment] | None,
        doc("Files, each with `filename` and `content` (a value, or a reference) or `path`."),
    ] = None


class Knobs(Spec):
    """How large a mail may be."""

    max_bytes: Annotated[Size, doc("How large the mail may be with all attachments.")] = 25 * 1024**2


class Sent(TypedDict):
    """Who has the mail."""

    message_id: str
    accepted: list[str]
    refused: dict[str, str]


@tool(name="email", page=__doc__, example=EXAMPLE)
async def send_mail(mail: Mail, knobs: Knobs, context: ToolContext) -> Sent:
    """Build the mail and hand it in."""
    account = account_of(context.auth or {})
    recipients = _recipients(mail)
    built = await _built(mail, account, knobs, context)
    server = context.call.resource(MAIL_SERVER, no_mail_server)
    refused = dict(await server.hand_in(account, built, recipients, context.call.network))
    accepted = [each for each in recipients if each not in refused]
    context.log(f"{account.host} has the mail for {', '.join(accepted)}")
    sent: Sent = {"message_id": str(built["Message-ID"]), "accepted": accepted, "refused": refused}
    if refused:
        told = "; ".join(f"{recipient}: {answer}" for recipient, answer in refused.items())
        raise Failed("email", f"not every recipient was accepted: {told}", code="refused", answered=True,
                     data=dict(sent))  # fmt: skip
    return sent


def _recipients(mail: Mail) -> list[str]:
    """Everybody who gets it, each once."""
    everybody = [*_addresses(mail.to, "to"), *_addresses(mail.cc, "cc"), *_addresses(mail.bcc, "bcc")]
    recipients = list(dict.fromkeys(address.addr_spec for address in everybody))
    if not 0 < len(recipients) <= RECIPIENTS_MAX:
        raise Failed(
            "input", f"a mail goes to 1 to {RECIPIENTS_MAX} recipients, this one to {len(recipients)}"
        )
    return recipients


def _addresses(given: str | Sequence[str], name: str) -> "tuple[Address, ...]":
    from email import policy

    text = given if isinstance(given, str) else ", ".join(given)
    if not text.strip():
        return ()
    header: Any = policy.default.header_factory(name, text)
    wrong = next((each for each in header.addresses if not each.domain or not each.username), None)
    if header.defects or wrong is not None or not text.isprintable():
        raise Failed("input", f"email input {name!r}: {str(wrong or text)[:200]!r} is no address")
    addresses: tuple[Address, ...] = header.addresses
    return addresses


async def _built(mail: Mail, account: MailAccount, knobs: Knobs, context: ToolContext) -> "EmailMessage":
    from email.message import EmailMessage

    if mail.text is None and mail.html is None:
        raise Failed("input", "email needs input 'text' or 'html'")
    built = EmailMessage()
    sender = mail.sender or account.sender
    for name, given in (("From", sender), ("To", mail.to), ("Cc", mail.cc), ("Reply-To", mail.reply_to)):
        if addresses := _addresses(given, name.lower()):
            built[name] = addresses
    if not mail.subject.isprintable():
        raise Failed("input", "email input 'subject': it is one line of text")
    built["Subject"] = mail.subject
    built["Message-ID"] = message_id(context.idempotency_key, built["From"].addresses[0].addr_spec)
    _set_text(built, mail)
    for attachment in mail.attachments or ():
        _attach(built, attachment, await raw_bytes(attachment, attachment.filename, knobs.max_bytes, context))
    size = len(bytes(built))
    if size > knobs.max_bytes:
        raise Failed("too_large", f"the mail has {size} bytes; raise spec.max_bytes above {knobs.max_bytes}")
    return built


def _set_text(built: "EmailMessage", mail: Mail) -> None:
    if mail.text is not None:
        built.set_content(mail.text)
    if mail.html is not None and mail.text is not None:
        built.add_alternative(mail.html, subtype="html")
    elif mail.html is not None:
        built.set_content(mail.html, subtype="html")


def _attach(built: "EmailMessage", attachment: Attachment, raw: bytes) -> None:
    import mimetypes

    name = attachment.filename
    media = attachment.content_type or mimetypes.guess_type(name)[0] or "application/octet-stream"
    main, _, sub = media.partition("/")
    if not main.isalpha() or not sub or not f"{name}{sub}".isprintable():
        raise Failed("input", f"email input 'attachments': {name!r} as {media!r} is no file of a mail")
    built.add_attachment(raw, maintype=main, subtype=sub, filename=name)
