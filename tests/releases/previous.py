"""The release before this one, from its wheel: unpacked, and run with the dependencies of this one.

`make previous-release` builds the wheel again, from the commit that the Makefile names.
"""

import atexit
import shutil
import tempfile
import zipfile
from pathlib import Path

from tests.fork_server import ForkServer

VERSION = "3.0.0a1"
WHEEL = Path(__file__).resolve().with_name(f"noetl-{VERSION}-py3-none-any.whl")


class PreviousRelease(ForkServer):
    """Runs command lines of the previous release."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="noetl-previous-"))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        super().__init__(self._folder)

    def _start(self) -> None:
        if not (self._folder / "noetl").is_dir():
            with zipfile.ZipFile(WHEEL) as wheel:
                wheel.extractall(self._folder)
        super()._start()

    def version(self) -> str:
        """What it says of itself."""
        done = self.run(["--version"], self._folder, {"PATH": "/usr/bin:/bin"})
        return done.stdout.decode().split()[1]


FORK_SERVER = PreviousRelease()
