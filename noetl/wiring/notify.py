"""Which adapter tells whom, made when it is first used, and where the pages are that a message leads to."""

from collections.abc import Callable
from functools import cache

from noetl.ports.network import Network
from noetl.ports.notification import Sender
from noetl.tools.parts.guard import connector


def senders(notification_playbook: Sender, allowed: Network) -> Callable[[str], Sender | None]:
    """The way to each kind of target; connections are made to allowed addresses alone."""

    @cache
    def sender_of(kind: str) -> Sender | None:
        match kind:
            case "playbook":
                return notification_playbook
            case "webhook":
                from noetl.adapters.notify.webhook import Webhook

                return Webhook(lambda: connector(allowed))
            case "slack":
                from noetl.adapters.notify.chat import Slack

                return Slack(lambda: connector(allowed))
            case "teams":
                from noetl.adapters.notify.chat import Teams

                return Teams(lambda: connector(allowed))
            case "mail":
                from noetl.adapters.notify.mail import Mail

                return Mail(allowed)
            case _:
                return None

    return sender_of


def pages_at(base: str | None) -> Callable[[str], str | None]:
    """The page of an execution at the address where people reach a server, if there is one."""
    return lambda execution_id: f"{base.rstrip('/')}/executions/{execution_id}" if base else None
