"""HEAD: what GET would answer at the same address, without its body. Routes know of GET alone."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

NOTHING = {"type": "http.response.body", "body": b"", "more_body": False}


class Head:
    """Asks for what a HEAD is about, and lets only the beginning of the answer pass."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; all but a HEAD goes on as it is."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        get_scope, finished = {**scope, "method": "GET"}, asyncio.Event()

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope.update({**get_scope, "method": "HEAD"})  # the route it came to is counted
                await send(message)
                await send(NOTHING)
                finished.set()

        await self.app(get_scope, _until(finished, receive), send_head)


def _until(finished: asyncio.Event, receive: Receive) -> Receive:
    """A reader that sends what it has to send and is gone once it is answered, so that a stream ends."""
    over = False

    async def receive_until() -> Message:
        nonlocal over
        if over:
            await finished.wait()
            return {"type": "http.disconnect"}
        message = await receive()
        over = not message.get("more_body", False)
        return message

    return receive_until
