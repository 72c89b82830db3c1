"""Bytes on their way into the result store: no secret gets there, wherever the chunks are cut."""

import hashlib
import json
from collections.abc import AsyncIterator

import pytest

from noetl.adapters.memory.results import MemoryResults
from noetl.core.values.redact import Redactor, spellings
from noetl.wiring.payloads import StoredPayloads
from noetl.worker.redacting_results import RedactedPayloads, without

ID = "0" * 32
SECRETS = ("canary-1", "canary-12", 'quo"ted\n', "schlüssel")
SPELLINGS = {way for secret in SECRETS for way in spellings(secret)}


async def cut(text: bytes, *places: int) -> AsyncIterator[bytes]:
    for start, end in zip((0, *places), (*places, len(text)), strict=True):
        yield text[start:end]


async def cleaned(text: bytes, *places: int) -> bytes:
    return b"".join([chunk async for chunk in without(SPELLINGS, cut(text, *places))])


@pytest.mark.parametrize(
    "text, clean",
    [
        (b"canary-12", b"***"),
        (b"a canary-1 and canary-12canary-1", b"a *** and ******"),
        (b"canary- canary-", b"canary- canary-"),
        (b"ccanary-1", b"c***"),
        (b"", b""),
        (json.dumps(['quo"ted\n', "schlüssel"]).encode(), b'["***", "***"]'),
        (json.dumps(["schlüssel"], ensure_ascii=False).encode(), b'["***"]'),
    ],
)
async def test_a_secret_is_masked_wherever_the_chunks_are_cut(text, clean):
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert await cleaned(text, first, second) == clean, (first, second)
    assert await cleaned(text, *range(len(text))) == clean


async def test_without_secrets_the_chunks_are_passed_on_as_they_come():
    chunks = [chunk async for chunk in without((), cut(b"abcdef", 2, 4))]
    assert chunks == [b"ab", b"cd", b"ef"]


async def test_what_is_stored_has_the_size_and_the_digest_of_what_is_left():
    redactor = Redactor()
    redactor.learn({"password": "canary-1"})
    results = MemoryResults(lambda: 1)
    payloads = RedactedPayloads(StoredPayloads(results, ID), redactor)
    ref = await payloads.put_stream(cut(b"so canary-1 it is", 6), "text/plain")
    assert await payloads.get(ref) == "so *** it is"
    assert ref["meta"]["bytes"] == 12
    assert ref["meta"]["sha256"] == hashlib.sha256(b"so *** it is").hexdigest()
    assert await payloads.get(await payloads.put({"a": "canary-1"})) == {"a": "***"}
