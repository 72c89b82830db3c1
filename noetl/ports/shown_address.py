"""Addresses of services as people may see them, in messages and listings: without what may be secret."""

import re

_SEVERAL = re.compile(r",(?=[\w+.-]+://)")
_ADDRESS = re.compile(r"([\w+.-]+://)?(?:([^?#]*)@)?([^?#]*)")


def each_address(text: str) -> list[str]:
    """Addresses with commas between; a comma without a scheme behind it is a part of one."""
    return _SEVERAL.split(text)


def without_password(text: str) -> str:
    """An address, or several with commas between, without passwords, tokens and queries."""
    return ",".join(map(_shown, each_address(text)))


def _shown(address: str) -> str:
    found = _ADDRESS.match(address)
    scheme, login, place = found.groups(default="") if found else ("", "", "")
    user, password, _ = login.partition(":")
    if "@" in user or not (password or scheme.startswith("postgres")):  # alone it may be a token
        return f"{scheme}{place}"
    return f"{scheme}{user}@{place}" if user else f"{scheme}{place}"
