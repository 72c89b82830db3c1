"""What a page of a tool kind says of mappings that its inputs take."""

from noetl import tools
from noetl.cli.terminal import Paint
from noetl.cli.tool_page import markdown_page, text_page


def test_the_keys_of_a_mapping_are_explained_too():
    page = markdown_page(tools.get("transfer"))
    source = page.partition("### `input.source`")[2].partition("###")[0]
    assert "| `driver` | text |  | The driver of `sql`, as for the kind of that name. |" in source
    assert "### `input.target`" in page
    assert "### `spec.timeout`" in markdown_page(tools.get("http"))
    text = text_page(tools.get("email"), Paint(False))
    assert "  filename      Its name in the mail. (text, required)" in text.partition("input.attachments")[2]
