"""Secret values never leave the worker: they are taken out by value, wherever they turn up."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MASK = "***"
SECRET_FIELDS = frozenset(
    {"value", "password", "token", "key", "secret", "pass", "passphrase", "passwd", "pwd"}
)
# As in token_url: about a secret, none itself.
OPEN_ENDS = frozenset({"id", "name", "path", "type", "uri", "url"})
MIN_CHARS = 6
_LOGIN = re.compile(r"://[^/@:\s]*:([^/@\s]+)@")


class Redactor:
    """Knows the secret values of one execution and takes them out of whatever is to be kept."""

    __slots__ = ("secrets",)

    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()

    def learn(self, material: Mapping[str, Any]) -> None:
        """Remember the secret fields of a resolved keychain entry."""
        found = {text for field, value in _fields(material) for text in _secrets_in(field, str(value))}
        new = {value for value in found if len(value) >= MIN_CHARS} - set(self.secrets)
        if new:
            self.secrets = tuple(sorted({*self.secrets, *new}, key=len, reverse=True))

    def clean(self, value: Any) -> Any:
        """The value with every secret in it masked; the value itself when there is none."""
        if not self.secrets:
            return value
        return self._clean(value)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            for secret in self.secrets:
                if secret in value:
                    value = value.replace(secret, MASK)
            return value
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        return value


def _secrets_in(field: str, text: str) -> Iterator[str]:
    """What is secret of a field: all of `client_secret`, the password of an address such as a `dsn`."""
    words = field.lower().split("_")
    if SECRET_FIELDS & {*words} and words[-1] not in OPEN_ENDS:
        yield text
    for password in _LOGIN.findall(text):
        yield password
        yield unquote(password)


def _fields(material: Mapping[str, Any]) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for field, value in material.items():
        if isinstance(value, dict):
            found += _fields(value)
        elif value is not None and not isinstance(value, bool):
            found.append((field, value))
    return found
