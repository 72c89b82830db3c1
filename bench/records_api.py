"""The API of a clinic in a process of its own, as cheap as can be: patients, pages of records, records.

`/patients` lists the patients, `/patients/P/KIND?page=N` a page of record numbers, `/patients/P/KIND/R` one
record; any other address answers a small body.
"""

import asyncio
import re

from bench.mock_api import answer_of, serve

PATIENTS, PAGES, ON_A_PAGE = 100, 2, 19
KINDS = ("visits", "results", "letters", "scans")
CALLS = 1 + PATIENTS * len(KINDS) * PAGES * (1 + ON_A_PAGE)
RECORDS = PATIENTS * len(KINDS) * PAGES * ON_A_PAGE
_RECORD = re.compile(rb"GET /patients/(\d+)/(\w+)/(\d+) ")
_PAGE = re.compile(rb"GET /patients/(\d+)/(\w+)\?page=(\d+) ")
_LIST = re.compile(rb"GET /patients ")


def _body(request: bytes) -> object:
    if record := _RECORD.match(request):
        patient, kind, number = (part.decode() for part in record.groups())
        return {"id": int(number), "patient": int(patient), "kind": kind, "text": "as it was found " * 20}
    if page := _PAGE.match(request):
        number = int(page.group(3))
        first = (number - 1) * ON_A_PAGE
        return {"ids": list(range(first, first + ON_A_PAGE)), "more": number < PAGES}
    if _LIST.match(request):
        return {"patients": list(range(PATIENTS))}
    return {"rows": list(range(10))}


if __name__ == "__main__":
    asyncio.run(serve(lambda request: answer_of(_body(request))))
