"""Broken playbooks for the loader, `migrate` and the editor's schema, others every time: `make fuzz`.

`python -m tests.fuzz.playbooks SECONDS [SEED]`; what breaks a rule is printed with the seed that makes it again.
"""

import secrets
import sys
import time

from tests.property.broken import cases
from tests.property.broken_checks import KINDS, Examination

ROUND = 1000  # cases of one seed


def examine(seed: str) -> bool:
    """Every case of a seed; whether all rules hold for all of them."""
    sound = True
    for text in cases(KINDS, seed, ROUND):
        for rule, detail in Examination(text).complaints:
            sound = False
            sys.stdout.write(f"seed {seed}: {rule}\n{detail}\n--- the playbook\n{text}\n")
    return sound


def main(seconds: float, seed: str | None) -> int:
    """Whether something was found."""
    until = time.monotonic() + seconds
    rounds = failures = 0
    while rounds == 0 or (seed is None and time.monotonic() < until):
        failures += not examine(seed or secrets.token_hex(4))
        rounds += 1
    sys.stdout.write(
        f"fuzz: {rounds * ROUND} broken playbooks, {failures} of {rounds} seeds found something\n"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    _, seconds, *seeds = sys.argv
    sys.exit(main(float(seconds), seeds[0] if seeds else None))
