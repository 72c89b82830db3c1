"""Incoming webhooks of Slack and Teams: what is told in the JSON that each of them shows."""

from collections.abc import Mapping

import msgspec

from noetl.adapters.notify.webhook import Connector, post, url_of
from noetl.json_value import Json, JsonObject
from noetl.ports.notification import Told

ADAPTIVE_CARD = "application/vnd.microsoft.card.adaptive"


class Slack:
    """Posts to a channel of Slack."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def send(self, address: str | None, material: Mapping[str, Json], told: Told) -> int | None:
        """Post it once."""
        return await post(self._connector, url_of(material), msgspec.json.encode(slack_message(told)), {})


class Teams:
    """Posts to a channel of Teams."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector

    async def send(self, address: str | None, material: Mapping[str, Json], told: Told) -> int | None:
        """Post it once."""
        return await post(self._connector, url_of(material), msgspec.json.encode(teams_message(told)), {})


def slack_message(told: Told) -> JsonObject:
    """A message of Slack: `text` is what a notification on a phone shows, the blocks are the message."""
    link = f"\n<{told.url}|Open the execution>" if told.url else ""
    facts = " · ".join(f"{name} {value}" for name, value in facts_of(told))
    blocks: list[Json] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": f"*{_escaped(told.text)}*{link}"}},
        {"type": "context", "elements": [{"type": "mrkdwn", "text": _escaped(facts)}]},
    ]
    return {"text": _escaped(told.text), "blocks": blocks}


def teams_message(told: Told) -> JsonObject:
    """A message of Teams: an Adaptive Card."""
    body: list[Json] = [
        {"type": "TextBlock", "text": told.text, "wrap": True, "weight": "Bolder"},
        {"type": "FactSet", "facts": [{"title": name, "value": value} for name, value in facts_of(told)]},
    ]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
    }
    if told.url:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the execution", "url": told.url}]
    attachment: JsonObject = {"contentType": ADAPTIVE_CARD, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def facts_of(told: Told) -> list[tuple[str, str]]:
    """What people want to see at a glance, in order."""
    counts = told.counts or {}
    facts = {
        "playbook": told.path + (f" v{told.version}" if told.version is not None else ""),
        "execution": told.execution_id,
        "status": told.status,
        "step": told.step,
        "steps": counts.get("steps"),
        "failed iterations": counts.get("failed_iterations") or None,
        "took": None if told.duration_ms is None else f"{told.duration_ms / 1000:.1f} s",
        "started by": told.by,
        "at": told.at,
        "delivery": told.id,
    }
    return [(name, str(value)) for name, value in facts.items() if value not in (None, "")]


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
