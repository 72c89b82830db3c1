"""The documentation that a server serves at /docs, to anyone."""

from tests.unit.server.serving import Served


async def test_a_page_is_there_as_it_was_written(server: Served) -> None:
    answer = await server.client.get("/docs/how-to/install.md")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/markdown; charset=utf-8")
    assert answer.text.startswith("# Install it\n")


async def test_what_is_no_page_is_not_found(server: Served) -> None:
    for name in ("nothing", "..%2f..%2fpyproject", "how-to/../../pyproject"):
        assert (await server.client.get(f"/docs/{name}.md")).status_code == 404
