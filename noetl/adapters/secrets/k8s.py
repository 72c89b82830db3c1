"""Keychain provider `k8s`: a Secret, over the cluster's API or from the files it is mounted as."""

import asyncio
import os
from urllib.parse import quote

from noetl.adapters.secrets.provider_http import Ask, chosen, decoded, part
from noetl.adapters.secrets.token_cache import Fetched
from noetl.errors import NotFound
from noetl.json_value import JsonObject

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


async def fetch(ask: Ask) -> Fetched:
    """The fields of a Secret, or one of them."""
    if folder := ask.optional("folder"):
        return Fetched(chosen(await asyncio.to_thread(_read_folder, folder, ask), ask))
    host, port = ask.environ("KUBERNETES_SERVICE_HOST"), ask.environ("KUBERNETES_SERVICE_PORT") or "443"
    if not host:
        raise NotFound(f"{ask.what}: this is no pod of a cluster; write folder: … for a mounted Secret")
    namespace = ask.optional("namespace") or await ask.file(f"{ACCOUNT}/namespace")
    name = ask.text("secret")
    authority = f"[{host}]" if ":" in host else host
    path = f"/api/v1/namespaces/{quote(namespace, safe='')}/secrets/{quote(name, safe='')}"
    url = f"https://{authority}:{port}{path}"
    headers = {"Authorization": f"Bearer {await ask.file(f'{ACCOUNT}/token')}"}
    answer = await ask.json("GET", url, headers=headers, authority=f"{ACCOUNT}/ca.crt")
    return Fetched(chosen(_decode(part(answer, "data"), ask), ask))


def _decode(data: JsonObject, ask: Ask) -> dict[str, str]:
    try:
        return {name: decoded(value) for name, value in data.items()}
    except ValueError:
        raise NotFound(f"{ask.what}: a field of the Secret is no text") from None


def _read_folder(folder: str, ask: Ask) -> dict[str, str]:
    """The files of a folder; the cluster's own links in it begin with two dots."""
    try:
        place = ask.place(folder)
        names = [name for name in sorted(os.listdir(place)) if not name.startswith(".")]
        files = {name: ask.place(str(place / name)) for name in names}
        return {name: file.read_text().rstrip("\n") for name, file in files.items() if file.is_file()}
    except (OSError, UnicodeDecodeError) as problem:
        raise NotFound(f"{ask.what}: the folder {folder} cannot be read: {problem}") from None
