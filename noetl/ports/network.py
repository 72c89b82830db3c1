"""Which addresses a playbook's requests may reach. Pure: resolving and connecting are the tools'.

An address is public, or belongs to one of the classes that a deployment has to allow by name.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

PUBLIC = "public"
SPECIAL = "special"
CLASSES: dict[str, tuple[str, ...]] = {
    "loopback": ("127.0.0.0/8", "::1/128", "0.0.0.0/32", "::/128"),  # the last two lead to this machine too
    "link_local": ("169.254.0.0/16", "fe80::/10"),
    "private": ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10"),
    "shared": ("100.64.0.0/10",),  # between a provider and its customers
}
NAMES = (*CLASSES, SPECIAL)

Address = IPv4Address | IPv6Address
Range = IPv4Network | IPv6Network
_RANGES: tuple[tuple[str, Range], ...] = tuple(
    (name, ip_network(text)) for name, texts in CLASSES.items() for text in texts
)
_UNICAST = ip_network("2000::/3")
# Public by their number, and where clouds tell a machine about itself: Oracle's beside others, and Azure's.
_METADATA = tuple(map(ip_network, ("192.0.0.0/24", "168.63.129.16/32")))
# IPv6 addresses that carry an IPv4 address in their last 32 bits.
_CARRIERS = tuple(map(ip_network, ("::ffff:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48")))


def class_of(address: str) -> str:
    """The class of an address: `public`, one of CLASSES, or `special` for all that is nobody's host."""
    return _class(ip_address(address.partition("%")[0]))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address that is listened on."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _class(address: Address) -> str:
    range_name = next((name for name, network in _RANGES if _within(address, network)), None)
    if range_name is not None:
        return range_name
    carried = _carried(address)
    if carried is not None:
        return _class(carried)
    if address.is_multicast or not address.is_global or address.is_reserved:
        return SPECIAL
    if any(_within(address, network) for network in _METADATA):
        return SPECIAL
    return PUBLIC if isinstance(address, IPv4Address) or address in _UNICAST else SPECIAL


def _within(address: Address, network: Range) -> bool:
    return address.version == network.version and address in network


def _carried(address: Address) -> IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for."""
    if isinstance(address, IPv4Address):
        return None
    if any(address in carrier for carrier in _CARRIERS):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.sixtofour or (address.teredo[1] if address.teredo else None)


@dataclass(frozen=True, slots=True)
class Network:
    """What a deployment allows beside public addresses: names of classes, and ranges such as 10.1.0.0/16."""

    allow: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Whether a request may connect to an address."""
        plain = ip_address(address.partition("%")[0])
        if (kind := _class(plain)) == PUBLIC or kind in self.allow:
            return True
        ranges = [ip_network(text) for text in self.allow if text not in NAMES]
        places = [place for place in (plain, _carried(plain)) if place is not None]
        return any(_within(place, network) for place in places for network in ranges)


PUBLIC_ONLY = Network()


def read_allowed(names: Iterable[str]) -> tuple[str, ...]:
    """Names of classes and ranges, checked; raises ValueError with what was wanted."""
    allowed = tuple(name.strip().lower() for name in names if name.strip())
    for name in allowed:
        if name not in NAMES:
            try:
                ip_network(name)
            except ValueError:
                raise ValueError(
                    f"a list of {', '.join(NAMES)} or ranges such as 10.1.0.0/16 (seen: {name})"
                ) from None
    return allowed
