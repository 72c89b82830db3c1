"""The objects of a place, as triggers look at them: with the stores that the tool kind `object` uses."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from urllib.parse import urlsplit

from noetl.control.object_watch import ListObjects
from noetl.errors import RequestError
from noetl.json_value import Json
from noetl.ports.arrival import ListedObject
from noetl.ports.call import Call, CallPayloads, Resources
from noetl.ports.envelope import Failed
from noetl.ports.network import Network

WHOLE_S = 2.0  # for how long nobody has written a file that is whole


def object_listing(payloads: CallPayloads, roots: Sequence[str], network: Network) -> ListObjects:
    """Lists buckets that may be reached, and folders of this machine that may be read."""
    resources = Resources()

    async def list_objects(source: str, material: Mapping[str, Json], most: int) -> list[ListedObject]:
        from noetl.tools.parts.object_stores import bucket

        call = Call(payloads, resources, auth=material, work_dir=os.getcwd(), network=network)
        call.roots = tuple(roots)
        try:
            found = await (await bucket(source, call)).list(None, most)
        except Failed as failed:
            raise RequestError(failed.message) from None
        folder = urlsplit(source).scheme in ("", "file")
        return [_listed(source, entry, folder=folder) for entry in found]

    return list_objects


def _listed(source: str, entry: Mapping[str, Json], *, folder: bool) -> ListedObject:
    """An entry of a listing; a file that was written a moment ago is not whole yet."""
    modified = datetime.fromisoformat(str(entry["modified"]))
    whole = not folder or (datetime.now(UTC) - modified).total_seconds() >= WHOLE_S
    tag = str(entry["etag"] or f"{entry['bytes']}-{entry['modified']}")
    return ListedObject(str(entry["key"]), tag, whole, {"store": source, **entry})
