"""The product of a server far away. Every method is one route; the shapes are those of the port."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from urllib.parse import quote

import msgspec

from noetl.adapters.http import stream
from noetl.adapters.http.client import Client, Query
from noetl.adapters.http.moment import ms, with_ms
from noetl.adapters.http.notifications import HttpNotifications
from noetl.adapters.http.problem import findings_of
from noetl.adapters.http.schedules import body_of, segment, started_of
from noetl.core.event import Event, EventEnvelope, iso
from noetl.core.message import Control
from noetl.dsl.diagnostic import Diagnostic
from noetl.json_value import Json, JsonObject
from noetl.ports import answers
from noetl.ports.front import ALL_LINES, Ask, FindLines, NewToken, Slice, Started, TokenAsk, Worker
from noetl.ports.store import AccessToken, Find, Listed, PlaybookText, Projection, Row, Summary

EVENTS_PAGE = 5000
ROWS_PAGE = 1000
ITEMS_PAGE = 100_000
FOUND = 200  # what was asked for is there already; 201 when it was made


def _wanted(find: FindLines) -> Query:
    return {"step": find.step, "task": find.task, "level": find.level, "text": find.text or None}


def _silent(text: str) -> None:
    """Nobody wants to know."""


class HttpFront(HttpNotifications):
    """Front over REST. `told` hears of trouble that is being mended."""

    def __init__(self, url: str, token: str | None = None, notify: Callable[[str], None] = _silent) -> None:
        self.client = Client(url, token, None if notify is _silent else notify)
        self._told = notify

    @property
    def url(self) -> str:
        """The server's address."""
        return self.client.url

    async def close(self) -> None:
        """Let go of the connection."""
        await self.client.close()

    # Playbooks

    async def register(self, text: str, file: str | None = None, by: str = "cli") -> PlaybookText:
        """Check and keep a playbook; where its file is here means nothing to a server."""
        entry = await self.client.ask("POST", "/catalog", body={"playbook": text})
        return _playbook({**entry, "text": text})

    async def findings(self, text: str, *, strict: bool = False) -> list[Diagnostic]:
        """Everything that the server finds in a text; nothing is kept."""
        body = {"playbook": text, "strict": strict}
        return findings_of((await self.client.ask("POST", "/validate", body=body))["diagnostics"])

    async def playbooks(self, path: str | None = None) -> Sequence[PlaybookText]:
        """The newest version of every path, or every version of one; without their texts."""
        return [_playbook(item) for item in await self._all("/catalog", path=path)]

    async def playbook(self, path: str, version: int | None = None) -> PlaybookText:
        return _playbook(await self.client.ask("GET", f"/catalog/{_part(path)}", query={"version": version}))

    async def delete_playbook(self, path: str, version: int | None = None) -> int:
        answer = await self.client.ask("DELETE", f"/catalog/{_part(path)}", query={"version": version})
        return int(answer["deleted"])

    async def playbook_of(self, execution_id: str) -> PlaybookText:
        return _playbook(await self.client.ask("GET", f"{_execution(execution_id)}/playbook"))

    # Executions

    async def start(self, ask: Ask) -> Started:
        """Begin an execution, or find the one that the same key began."""
        body = {
            "playbook": ask.text,
            "path": ask.path,
            "version": ask.version,
            "workload": ask.workload,
            "idempotency_key": ask.idempotency_key,
            "until": ask.until,
        }
        fields = {name: value for name, value in body.items() if value is not None}
        status, answer = await self.client.answer("POST", "/executions", body=fields)
        return started_of(answer, existed=status == FOUND)

    async def control(self, execution_id: str, wish: Control) -> None:
        body = {"name": wish.name, "payload": wish.payload} if wish.what == "signal" else {"why": wish.why}
        await self.client.ask("POST", f"{_execution(execution_id)}/{wish.what}", body=body)

    async def release(self, execution_id: str, by: str = "cli") -> None:
        """Let a stuck execution go on; the server knows who asks."""
        await self.client.ask("POST", f"{_execution(execution_id)}/release")

    async def retry(self, execution_id: str, step: str | None = None, by: str = "cli") -> Started:
        """A new execution that goes on from what failed; the server says who asked."""
        return started_of(
            await self.client.ask("POST", f"{_execution(execution_id)}/retry", body={"step": step})
        )

    async def rerun(self, execution_id: str, start: str, text: str | None = None, by: str = "cli") -> Started:
        """A new execution that begins again at a step; the server says who asked."""
        body = {"from": start, "playbook": text}
        return started_of(await self.client.ask("POST", f"{_execution(execution_id)}/rerun", body=body))

    async def executions(self, find: Find) -> Listed:
        query: dict[str, str | int | bool | None] = {
            **msgspec.structs.asdict(find),
            "since": None if find.since is None else iso(find.since),
            "until": None if find.until is None else iso(find.until),
        }
        del query["paths"]  # that is what a server makes of the label
        page = await self.client.ask("GET", "/executions", query=query)
        return Listed([_summary(item) for item in page["items"]], page["cursor"])

    async def execution(self, execution_id: str, *, wait_s: float = 0) -> answers.ExecutionAnswer:
        """How it stands; the server waits for the end, for so many seconds at the most."""
        query = {"wait": int(wait_s) or None}
        result: answers.ExecutionAnswer = await self.client.ask("GET", _execution(execution_id), query=query)
        return result

    async def status(self, execution_id: str) -> str:
        return str((await self.execution(execution_id))["status"])

    def follow(self, execution_id: str, first: int = 1) -> AsyncGenerator[tuple[int, list[Event]]]:
        return stream.follow(self.client, segment(execution_id), first, self._told)

    # Readings

    async def projection(self, execution_id: str) -> Projection:
        answer = await self.client.ask("GET", f"{_execution(execution_id)}/projection")
        return msgspec.convert(answer, Projection)

    async def rows(self, execution_id: str, first: int = 1, limit: int = 1000) -> list[Row]:
        query = {"from": first, "limit": min(limit, ROWS_PAGE)}
        page = await self.client.ask("GET", f"{_execution(execution_id)}/log", query=query)
        return msgspec.convert(page["items"], list[Row])

    async def events(
        self,
        execution_id: str,
        *,
        first: int = 1,
        limit: int = 500,
        name: str | None = None,
        step: str | None = None,
    ) -> list[EventEnvelope]:
        envelopes: list[EventEnvelope] = []
        start: int | None = first
        while start is not None and len(envelopes) < limit:
            some = min(limit - len(envelopes), EVENTS_PAGE)
            query: Query = {"from": start, "limit": some, "name": name, "step": step}
            page = await self.client.ask("GET", f"{_execution(execution_id)}/events", query=query)
            envelopes += page["items"]
            start = page["next"]
        return envelopes

    async def logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", limit: int = 1000
    ) -> answers.LinesPage:
        query: Query = {**_wanted(find), "after": after or None, "limit": limit}
        page: answers.LinesPage = await self.client.ask(
            "GET", f"{_execution(execution_id)}/logs", query=query
        )
        return page

    def follow_logs(
        self, execution_id: str, find: FindLines = ALL_LINES, *, after: str = "", live: bool = True
    ) -> AsyncGenerator[answers.LinesPage]:
        query: Query = {**_wanted(find), "children": find.children, "live": live}
        return stream.follow_lines(self.client, segment(execution_id), query, after, self._told)

    async def graph(self, execution_id: str) -> JsonObject:
        drawing: JsonObject = await self.client.ask("GET", f"{_execution(execution_id)}/graph")
        return drawing

    async def state(self, execution_id: str, at: int | None = None) -> answers.StateAnswer:
        path = f"{_execution(execution_id)}/state"
        answer: answers.StateAnswer = await self.client.ask("GET", path, query={"at": at})
        return answer

    async def why(self, execution_id: str, step: str | None = None) -> answers.WhyAnswer:
        path = f"{_execution(execution_id)}/why"
        explanation: answers.WhyAnswer = await self.client.ask("GET", path, query={"step": step})
        return explanation

    async def diff(self, first: str, other: str) -> answers.DiffAnswer:
        difference: answers.DiffAnswer = await self.client.ask(
            "GET", f"{_execution(first)}/diff/{segment(other)}"
        )
        return difference

    async def evaluate(self, execution_id: str, template: str, at: int | None = None) -> Json:
        body = {"template": template, "at": at}
        answer: JsonObject = await self.client.ask("POST", f"{_execution(execution_id)}/render", body=body)
        return answer["value"]

    async def result(
        self, key: str, *, offset: int = 0, limit: int | None = None, select: str | None = None
    ) -> Slice:
        query = {"offset": offset, "limit": limit and min(limit, ITEMS_PAGE), "select": select}
        payload = await self.client.ask("GET", f"/results/{_part(key)}", query=query)
        return msgspec.convert(payload, Slice)

    # Credentials

    async def put_credential(self, name: str, material: JsonObject) -> None:
        await self.client.ask("PUT", f"/credentials/{segment(name)}", body=material)

    async def credentials(self) -> Sequence[tuple[str, int]]:
        return [(str(item["name"]), ms(str(item["set_at"]))) for item in await self._all("/credentials")]

    async def credential(self, name: str) -> answers.CredentialAnswer:
        fields: answers.CredentialAnswer = await self.client.ask("GET", f"/credentials/{segment(name)}")
        return fields

    async def delete_credential(self, name: str) -> None:
        await self.client.ask("DELETE", f"/credentials/{segment(name)}")

    async def seal_again(self) -> int:
        return int((await self.client.ask("POST", "/credentials/rotate"))["sealed"])

    # Tokens

    async def new_token(self, ask: TokenAsk) -> NewToken:
        """Make a token; the server says who asked."""
        answer = await self.client.ask("POST", "/tokens", body=body_of(ask))
        return NewToken(_token(answer), answer["token"])

    async def tokens(self) -> Sequence[AccessToken]:
        """Every token, the newest first, without digests."""
        return [_token(item) for item in await self._all("/tokens")]

    async def delete_token(self, token_id: str) -> None:
        await self.client.ask("DELETE", f"/tokens/{segment(token_id)}")

    # The process

    async def workers(self) -> Sequence[Worker]:
        items = await self._all("/workers")
        return [msgspec.convert(with_ms(item, "heard_at", "started_at"), Worker) for item in items]

    async def stuck(self) -> int:
        count, find = 0, Find(status="stuck", limit=500)
        while True:
            page = await self.executions(find)
            count, find.cursor = count + len(page.items), page.cursor
            if page.cursor is None:
                return count

    async def overdue_ms(self) -> int:
        return int((await self.client.ask("GET", "/health/ready", prefix="")).get("overdue_ms", 0))


def _part(text: str) -> str:
    """A text as a part of a path; its slashes stay."""
    return quote(text, safe="/")


def _execution(execution_id: str) -> str:
    return f"/executions/{segment(execution_id)}"


def _playbook(item: Mapping[str, object]) -> PlaybookText:
    return msgspec.convert({"text": "", **with_ms(item, "registered_at")}, PlaybookText)


def _summary(item: answers.ExecutionItem) -> Summary:
    moments = with_ms(item, "requested_at", "started_at", "ended_at", "late_at")
    summary = msgspec.convert({**moments, **item["playbook"]}, Summary)
    summary.requested_by = item.get("by")
    if item["counts"] is not None:
        summary.result = msgspec.json.encode({"counts": item["counts"], "error": item.get("error")})
    return summary


def _token(item: Mapping[str, object]) -> AccessToken:
    return msgspec.convert({"hash": "", **with_ms(item, "created_at", "expires_at")}, AccessToken)
