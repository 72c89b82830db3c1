"""Every code a finding can carry, gathered from the modules that use them; each has a page in the docs."""

from functools import cache
from importlib import import_module
from pkgutil import walk_packages

import noetl.dsl as room
from noetl.dsl.diagnostic import Code


@cache
def catalogue() -> dict[str, Code]:
    """The codes by name."""
    codes = {}
    for module in walk_packages(room.__path__, f"{room.__name__}."):
        for value in vars(import_module(module.name)).values():
            if isinstance(value, Code):
                codes[value.name] = value
    return dict(sorted(codes.items()))
