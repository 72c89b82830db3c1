"""Checks that a secret can be had and answers with a handle to it, never with its value.

Use the handle's name as another task's `auth`: `auth: "{{ login.data.name }}"`. It is for playbooks that
choose a credential while they run; where the name is known beforehand, write `auth: NAME` and declare it in
`keychain`.
"""

from typing import Annotated

from noetl.tools.parts.function import tool
from noetl.tools.parts.tool_context import ToolContext

EXAMPLE = """\
apiVersion: noetl.io/v2
kind: Playbook
metadata: {name: secrets, path: tools/secrets}
keychain:
  - {name: api, kind: env, env: API_TOKEN}
workflow:
  - step: start
    tool: {kind: secrets, input: {name: api}}
"""


@tool(page=__doc__, returns="`{name, fields}`: a handle, without any value", example=EXAMPLE)
async def secrets(
    name: Annotated[str, "The keychain entry or stored credential."], context: ToolContext
) -> dict[str, object]:
    """Fetch the secret, forget its value, and say which fields it has."""
    secret = await context.secret(name)
    return {"name": name, "fields": sorted(field for field in secret if field != "kind")}
