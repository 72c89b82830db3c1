"""Connections to allowed addresses alone: what a name leads to is checked, and what was checked is used."""

import errno
import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from noetl.ports.envelope import Failed
from noetl.ports.network import Network, class_of

if TYPE_CHECKING:
    from aiohttp import TCPConnector
    from aiohttp.abc import AbstractResolver, ResolveResult
    from aiohttp.connector import AddrInfoType


class Refused(OSError):
    """An address that this deployment does not let playbooks reach."""

    def __init__(self, host: str, address: str) -> None:
        self.host, self.address, self.address_class = host, address, class_of(address)
        super().__init__(errno.EACCES, os.strerror(errno.EACCES))

    @property
    def sentence(self) -> str:
        """Why there was no connection, and what an operator can do."""
        leads = f"{self.host!r} leads to {self.address}" if self.host != self.address else self.address
        return (
            f"{leads}, a {self.address_class.replace('_', '-')} address, which this deployment does not let "
            f"playbooks reach; NOETL_ALLOW_NETWORKS={self.address_class} would"
        )


def may_be_found_later(problem: BaseException | None) -> bool:
    """Whether nobody could say where a host is, as opposed to saying that there is none."""
    return isinstance(problem, socket.gaierror) and problem.errno == socket.EAI_AGAIN


async def reachable(url: str, network: Network) -> None:
    """Refuse an address that leads where playbooks may not go, for clients that resolve names themselves."""
    import asyncio

    host = None
    with suppress(ValueError):
        host = urlsplit(url).hostname
    if not host:
        raise Failed("input", f"{url!r} is no address")
    try:
        addresses = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as problem:
        again = may_be_found_later(problem)
        message = f"the host {host!r} cannot be found: {problem.strerror}"
        raise Failed("dns", message, retryable=again) from None
    for address in (str(each[4][0]) for each in addresses):
        if not network.allows(address):
            raise Failed("network", Refused(host, address).sentence, code=class_of(address))


def connector(network: Network, resolver: "AbstractResolver | None" = None) -> "TCPConnector":
    """Connections for a client session; the number of tasks is the bound on their number."""
    import aiohttp
    from aiohttp.abc import AbstractResolver

    class GuardedResolver(AbstractResolver):
        """Leaves out the addresses of a name that may not be reached; the rest is connected to."""

        def __init__(self) -> None:
            self.inner = resolver or aiohttp.DefaultResolver()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> "list[ResolveResult]":
            addresses = await self.inner.resolve(host, port, family)
            allowed = [each for each in addresses if network.allows(each["host"])]
            if addresses and not allowed:
                raise Refused(host, addresses[0]["host"])
            return allowed

        async def close(self) -> None:
            await self.inner.close()

    def make(info: "AddrInfoType") -> socket.socket:
        """A socket for an address, which may also have been written as one and never resolved."""
        family, kind, protocol, _, address = info
        if not network.allows(str(address[0])):
            raise Refused(str(address[0]), str(address[0]))
        return socket.socket(family=family, type=kind, proto=protocol)

    return aiohttp.TCPConnector(limit=0, resolver=GuardedResolver(), socket_factory=make)
