"""Who asks when no server does: the user that this process runs as."""

import os
import pwd
from functools import cache


@cache
def caller(via: str = "cli") -> str:
    """The name of the effective user of this process, whatever its environment says, and by what way."""
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return f"{name} via {via}"
