"""Secrets that a task was just given, for the other tasks of its execution; each is forgotten after a moment.

Where secrets come from is the wiring's: the server, or the keychain of this process.
"""

import asyncio

from noetl.ports.call import Secret
from noetl.ports.control import Secrets, material_digest

SECRET_S = 5.0  # a changed credential is in use everywhere after so long


class SecretCache:
    """Secrets by execution and name."""

    def __init__(self) -> None:
        self._secrets: dict[tuple[str, str], Secret] = {}

    def get(self, execution_id: str, name: str, refused: str | None) -> Secret | None:
        """The secret, unless it is the one that was refused."""
        secret = self._secrets.get((execution_id, name))
        return None if secret is not None and refused and material_digest(secret) == refused else secret

    def keep(self, execution_id: str, name: str, secret: Secret) -> Secret:
        """Keep a secret for a moment."""
        key = (execution_id, name)
        if key not in self._secrets:
            asyncio.get_running_loop().call_later(SECRET_S, self._secrets.pop, key, None)
        self._secrets[key] = secret
        return secret


class CachedSecrets:
    """Secrets of this process; to read and open one takes two threads, so a moment shares it."""

    def __init__(self, secrets: Secrets) -> None:
        self._source, self._cache = secrets, SecretCache()

    async def resolve(self, execution_id: str, name: str, refused: str | None = None) -> Secret:
        """The secret that a task of an execution names."""
        secret = self._cache.get(execution_id, name, refused)
        if secret is not None:
            return secret
        return self._cache.keep(execution_id, name, await self._source.resolve(execution_id, name, refused))
