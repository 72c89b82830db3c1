"""Incoming webhooks of Slack and Teams: what is told in the JSON that each of them shows."""

from collections.abc import Mapping

import msgspec

from noetl.adapters.notify.webhook import Connector, post, url_of
from noetl.json_value import Json, JsonObject
from noetl.ports.notification import NotificationMessage

ADAPTIVE_CARD = "application/vnd.microsoft.card.adaptive"


class Slack:
    """Posts to a channel of Slack."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Post it once."""
        return await post(self._connector, url_of(material), msgspec.json.encode(slack_message(message)), {})


class Teams:
    """Posts to a channel of Teams."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def send(
        self, address: str | None, material: Mapping[str, Json], message: NotificationMessage
    ) -> int | None:
        """Post it once."""
        return await post(self._connector, url_of(material), msgspec.json.encode(teams_message(message)), {})


def slack_message(message: NotificationMessage) -> JsonObject:
    """A message of Slack: `text` is what a notification on a phone shows, the blocks are the message."""
    link = f"\n<{message.url}|Open the execution>" if message.url else ""
    facts = " · ".join(f"{name} {value}" for name, value in facts_of(message))
    blocks: list[Json] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{_escaped(message.text)}*{link}"}},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": _escaped(facts)}]},
    ]
    return {"text": _escaped(message.text), "blocks": blocks}


def teams_message(message: NotificationMessage) -> JsonObject:
    """A message of Teams: an Adaptive Card."""
    body: list[Json] = [
        {"type": "TextBlock", "text": message.text, "wrap": True, "weight": "Bolder"},
        {"type": "FactSet", "facts": [{"title": name, "value": value} for name, value in facts_of(message)]},
    ]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if message.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the execution", "url": message.url}]
    attachment: JsonObject = {"contentType": ADAPTIVE_CARD, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def facts_of(message: NotificationMessage) -> list[tuple[str, str]]:
    """What people want to see at a glance, in order."""
    counts = message.counts or {}
    facts = {
        "playbook": message.path + (f" v{message.version}" if message.version is not None else ""),
        "execution": message.execution_id,
        "status": message.status,
        "step": message.step,
        "steps": counts.get("steps"),
        "failed iterations": counts.get("failed_iterations") or None,
        "took": None if message.duration_ms is None else f"{message.duration_ms / 1000:.1f} s",
        "started by": message.by,
        "at": message.at,
        "delivery": message.id,
    }
    return [(name, str(value)) for name, value in facts.items() if value not in (None, "")]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
