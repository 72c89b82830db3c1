"""NoETL beside other engines on this machine: `python -m bench.peers` measures all and prints one table.

`work.py` is the work and its timing, `installed.py` makes the environments of peers, each `*_engine.py` is
one engine in a process of its own. Nothing in here is shipped.
"""
