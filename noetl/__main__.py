"""`python -m noetl` is the same door as `noetl`."""

from noetl.cli.main import main

main()
