"""The exit codes of the program, and which error has which. Those of an execution are the runner's."""

EXIT_USAGE = 2
EXIT_BACKEND = 3
EXIT_INTERNAL = 70
EXIT_CLOSED_PIPE = 141
EXIT_INTERRUPTED = 130
EXIT_CODES = {
    "playbook": 1,
    "backend": EXIT_BACKEND,
    "server": EXIT_BACKEND,
    "newer-format": EXIT_BACKEND,
    "invariant": EXIT_INTERNAL,
}  # by error code; every other named error is a bad request
