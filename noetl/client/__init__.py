"""NoETL from Python: clients of a server, and playbooks run in the caller's own process.

What users import stands in `noetl` itself. Nothing here prints, handles signals or tunes the process: it is
not ours. Nothing here knows the command line.
"""
