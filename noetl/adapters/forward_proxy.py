"""Which forward proxy leads to a server, by the variables that programs share."""

from ipaddress import ip_address
from urllib.parse import urlsplit

from noetl.errors import RequestError


def forward_proxy(url: str) -> str | None:
    """The proxy through which an address is reached, as `http://HOST:PORT`; None: directly.

    HTTPS_PROXY or HTTP_PROXY, by the scheme of the address, unless NO_PROXY names the host.
    """
    from urllib.request import getproxies_environment
    from urllib.request import proxy_bypass_environment as is_exempt  # type: ignore[attr-defined]

    parts, proxies = urlsplit(url), getproxies_environment()
    proxy = proxies.get(parts.scheme)
    if not proxy or _is_here(parts.hostname or ""):
        return None
    if is_exempt(parts.netloc.rpartition("@")[2], proxies):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    found = urlsplit(proxy)
    if found.scheme != "http" or not found.hostname:
        shown = proxy.rpartition("@")[2]
        message = f"{parts.scheme.upper()}_PROXY names {shown}, and only proxies at http:// are spoken to"
        raise RequestError(message, hint="name another, or the server's host in NO_PROXY")
    return proxy


def _is_here(host: str) -> bool:
    """Whether a host is this machine, which no proxy leads to."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
