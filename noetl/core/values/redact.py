"""Secret values never leave the worker: they are taken out by value, wherever and however they turn up.

However: as they are, as Python or JSON writes them between quotes, in base64, percent-encoded, line by line.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import unquote, unquote_plus

import msgspec

V = TypeVar("V")
MASK = "***"
SECRET_FIELDS = frozenset(
    {"value", "password", "token", "key", "secret", "pass", "passphrase", "passwd", "pwd"}
    | {"apikey", "authorization", "passwords", "tokens", "keys", "secrets"}
)
# As in token_url: about a secret, none itself.
OPEN_ENDS = frozenset({"id", "name", "path", "type", "uri", "url"})
MIN_CHARS = 6
LINE_CHARS = 16  # a shorter line of a secret with several may be anything
LINES_MAX = 200
_LOGIN = re.compile(r"://[^/@:\s]*:([^/@\s]+)@")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_SHORT_ESCAPES = str.maketrans({"+": "-", "/": "_"})


class Redactor:
    """Knows the secret values of one execution and takes them out of whatever is to be kept."""

    __slots__ = ("_encoded", "_in_json", "_learned", "_numbers", "_shortest", "secrets", "spellings")

    def __init__(self) -> None:
        self.secrets: tuple[str, ...] = ()
        self.spellings: tuple[str, ...] = ()  # of the secrets, the longest first
        self._shortest = 0
        self._in_json: tuple[bytes, ...] | None = ()  # the spellings as JSON has them; None: it cannot
        self._numbers: frozenset[int | float] = frozenset()
        self._encoded: dict[str, re.Pattern[str]] = {}
        self._learned: Mapping[str, object] | None = None  # at last: the tasks of a loop bring it again

    def learn(self, material: Mapping[str, object]) -> None:
        """Remember the secret fields of a resolved keychain entry, which nobody changes."""
        if material is self._learned:
            return
        self._learned = material
        values = list(_secret_values(material))
        new = {text for value in values if len(text := str(value)) >= MIN_CHARS} - set(self.secrets)
        if not new:
            return
        self.secrets = _longest_first({*self.secrets, *new})
        ways = {way for secret in new for way in spellings(secret)}
        self.spellings = _longest_first({*self.spellings, *ways, *_login(material, new)})
        self._shortest = len(self.spellings[-1])
        self._in_json = _in_json(self.spellings)
        self._numbers |= {value for value in values if isinstance(value, int | float) and str(value) in new}

    def clean(self, value: V) -> V:
        """The value with every secret in it masked; the value itself when there is none."""
        if not self.secrets or self._has_none(value):
            return value
        cleaned: V = self._clean(value)
        return cleaned

    def _has_none(self, value: object) -> bool:
        """Whether a value surely holds no secret: its JSON, searched as one text, has no spelling of one."""
        if self._in_json is None or self._numbers:
            return False
        try:
            text = msgspec.json.encode(value)
        except (TypeError, ValueError, OverflowError, RecursionError):
            return False  # it is no JSON, or not yet
        return b"%" not in text and not any(spelling in text for spelling in self._in_json)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._clean_text(value) if len(value) >= self._shortest else value
        if isinstance(value, dict):
            return {self._clean(key): self._clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self._clean(item) for item in value]
        if self._numbers and isinstance(value, int | float) and value in self._numbers:
            return MASK
        return value

    def _clean_text(self, text: str) -> str:
        for spelling in self.spellings:
            if spelling in text:
                text = text.replace(spelling, MASK)
        return self._clean_encoded(text) if "%" in text else text

    def _clean_encoded(self, text: str) -> str:
        """Which letters percent-encoding touches is the encoder's choice: it is decoded, not spelled."""
        meant, meant_plus = unquote(text), unquote_plus(text)
        for secret in self.secrets:
            if secret in meant or secret in meant_plus:
                if secret not in self._encoded:
                    self._encoded[secret] = re.compile("".join(map(_encoded, secret)))
                text = self._encoded[secret].sub(MASK, text)
        return text


def spellings(secret: str) -> set[str]:
    """A secret as plain text has it, and as it stands inside what programs print."""
    ways = {secret, secret.replace(" ", "+")}
    ways |= {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    literal = repr(secret)[1:-1]
    ways |= {literal, literal.replace("'", "\\'")}
    whole = base64.b64encode(raw := secret.encode("utf-8", "surrogatepass")).decode()[: len(raw) // 3 * 4]
    ways |= {whole, whole.translate(_SHORT_ESCAPES)}
    lines = [line.strip() for line in secret.splitlines()] if "\n" in secret else []
    ways |= {line for line in lines[:LINES_MAX] if len(line) >= LINE_CHARS and not line.startswith("-----")}
    return ways


def _login(material: Mapping[str, object], secrets: set[str]) -> Iterator[str]:
    """User and password as HTTP sends them; the end, which is padded, is not needed to know it."""
    password = str(material.get("password"))
    if password in secrets:
        user = material.get("user", material.get("username", ""))
        yield base64.b64encode(f"{user}:{password}".encode("utf-8", "surrogatepass")).decode().rstrip("=")


def _encoded(char: str) -> str:
    """A pattern of one character, as it is or percent-encoded."""
    escaped = "".join(f"%{byte:02x}" for byte in char.encode("utf-8", "surrogatepass"))
    plus = r"|\+" if char == " " else ""
    return f"(?:{re.escape(char)}|(?i:{escaped}){plus})"


def _in_json(texts: Iterable[str]) -> tuple[bytes, ...] | None:
    """Texts as they stand inside JSON, which writes each character by itself, wherever it stands."""
    try:
        return tuple(msgspec.json.encode(text)[1:-1] for text in texts)
    except ValueError:  # half of a surrogate pair
        return None


def _longest_first(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(texts, key=len, reverse=True))


def _secret_values(material: object, field: str = "", *, inside: bool = False) -> Iterator[object]:
    """What is secret of a material: all below `client_secret`, the password of an address such as a `dsn`."""
    if isinstance(material, Mapping):
        for name, value in material.items():
            below = inside or (name != "value" and _is_secret(str(name)))
            yield from _secret_values(value, str(name), inside=below and not _is_open(str(name)))
    elif isinstance(material, list | tuple):
        for value in material:
            yield from _secret_values(value, field, inside=inside)
    elif material is not None and not isinstance(material, bool):
        if inside or _is_secret(field):
            yield material
        for password in _LOGIN.findall(str(material)):
            yield password
            yield unquote(password)


def _words(field: str) -> list[str]:
    """The words of a name, however they are joined: `client_secret`, `clientSecret`, `Client-Secret`."""
    return [word.lower() for word in _WORD.findall(field)]


def _is_open(field: str) -> bool:
    return _words(field)[-1:] != [] and _words(field)[-1] in OPEN_ENDS


def _is_secret(field: str) -> bool:
    return bool(SECRET_FIELDS & {*_words(field)}) and not _is_open(field)
