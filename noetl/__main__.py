"""The door of `noetl` and of `python -m noetl`: quiet about a Ctrl-C that comes while it opens."""

import signal
from typing import NoReturn


def main() -> NoReturn:
    """Load the command line and run it."""
    interrupts = signal.getsignal(signal.SIGINT)
    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # nothing has begun that would have to be ended
    from noetl.cli.main import main as command_line

    if interrupts is signal.default_int_handler:
        signal.signal(signal.SIGINT, interrupts)
    command_line()


if __name__ == "__main__":
    main()
