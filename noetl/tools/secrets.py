"""Checks that a secret can be had and answers with a handle to it, never with its value.

Use the handle's name as another task's `auth`: `auth: "{{ login.data.name }}"`. It is for playbooks that
choose a credential while they run; where the name is known beforehand, write `auth: NAME` and declare it in
`keychain`.
"""

from typing import Annotated

from noetl.ports.call import Call
from noetl.ports.envelope import Envelope, ok
from noetl.ports.tool import Input, define, doc

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


class Lookup(Input):
    """Which secret."""

    name: Annotated[str, doc("The keychain entry or stored credential.")]


async def run(lookup: Lookup, call: Call) -> Envelope:
    """Fetch the secret, forget its value, and say which fields it has."""
    secret = await call.secret(lookup.name)
    fields = sorted(name for name in secret if name != "kind")
    return ok({"name": lookup.name, "fields": fields})


TOOL = define(
    "secrets",
    __doc__,
    Lookup,
    run,
    returns="`{name, fields}`: a handle, without any value",
    example=EXAMPLE,
)
