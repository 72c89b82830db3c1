"""Paths that stay inside the folders a call may use. Every kind that touches a file asks here."""

import errno
import os

from noetl.ports.call import Call
from noetl.ports.envelope import Failed

EVERYWHERE = os.sep


def inside(call: Call, path: str) -> str:
    """The real, absolute path; Failed (kind `path`) when it leaves the allowed folders, also over a link."""
    if not path or "\0" in path:
        raise Failed("path", f"{path!r} is not a path")
    if EVERYWHERE in call.roots:  # nothing to stay inside of: following links would cost and decide nothing
        return os.path.abspath(os.path.join(call.work_dir, path))
    real = os.path.realpath(os.path.join(call.work_dir, path))
    roots = [os.path.realpath(root) for root in call.roots or (call.work_dir,)]
    if any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in roots):
        return real
    allowed = f"outside the allowed folders: {', '.join(roots)}; NOETL_ROOTS names others"
    raise Failed("path", f"{path!r} leads to {real}, {allowed}")


def relative_path(call: Call, real: str) -> str:
    """A real path as an author reads it: relative to the work folder where it lies inside."""
    start = os.path.realpath(call.work_dir)
    return os.path.relpath(real, start) if real.startswith(start + os.sep) else real


def read_limited(path: str, max_bytes: int) -> bytes:
    """The bytes of a file that is not too large."""
    with open(path, "rb") as file:
        refuse_large(os.fstat(file.fileno()).st_size, max_bytes)
        return file.read()


def refuse_large(size: int, max_bytes: int) -> None:
    """Failed (kind `too_large`) for a file of more bytes than are read."""
    if size > max_bytes:
        raise Failed("too_large", f"the file has {size} bytes; raise spec.max_bytes above {max_bytes}")


def is_inside(call: Call, path: str) -> bool:
    """Whether a path stays inside the folders that a call may use."""
    try:
        return bool(inside(call, path))
    except Failed:
        return False


def errno_name(problem: OSError) -> str | None:
    """The system's name of an error, such as ENOSPC."""
    return errno.errorcode.get(problem.errno or 0)


def beside(path: str) -> str:
    """A name in the same folder for a file that is not finished; renaming it is then one step."""
    from secrets import token_hex

    return os.path.join(os.path.dirname(path), f".noetl-{token_hex(8)}.part")
