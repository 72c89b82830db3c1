"""How deep values go that executions keep: whoever follows one by recursion must not run out of stack."""

NESTED_MOST = 200
"""Levels of lists and mappings below a kept value."""
TOO_DEEP = f"the value is nested deeper than {NESTED_MOST} levels"


def is_too_deep(value: object) -> bool:
    """Whether a value goes deeper than what is kept may; its levels are looked at one after the other."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(NESTED_MOST + 1):
        if not level:
            return False
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
    return bool(level)
