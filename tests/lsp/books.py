"""The playbook that most tests of the language server open, and how its edits are counted."""

BOOK = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: book, path: tests/book}
keychain:
  - {name: warehouse, kind: postgres_credential, credential: warehouse}
workload: {api_url: "http://127.0.0.1:1", shop: {city: Oslo}}
workflow:
  - step: fetch
    desc: Reads the orders.
    tool:
      - name: orders
        kind: http
        input: {url: "{{ workload.api_url }}/orders"}
        spec:
          policy:
            rules:
              - when: "{{ output.status == 'error' }}"
                then: {do: jump, to: orders}
              - else:
                  then: {do: continue}
      - name: keep
        kind: python
        input: {rows: "{{ orders.data }}", code: "result = len(rows)"}
        set: {ctx.rows: "{{ output.data }}"}
    next: {arcs: [{step: report, when: "{{ event.ok }}"}]}
  - step: report
    tool: {kind: noop, output: "{{ ctx.rows }} of {{ fetch.data }} 🍵 {{ fetch.data }}"}
"""


def in_characters(edits: list[dict[str, object]], text: str) -> list[dict[str, object]]:
    """Edits with their columns as characters: the protocol counts a character beyond the first plane twice."""
    lines = text.split("\n")
    for edit in edits:
        for end in ("start", "end"):
            place = edit["range"][end]  # type: ignore[index]
            units = lines[place["line"]].encode("utf-16-le")[: 2 * place["character"]]
            place["character"] = len(units.decode("utf-16-le"))
    return edits
