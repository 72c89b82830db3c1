"""Benchmarks: `python -m bench [name...]` measures, prints one table and writes bench/out/latest.json.

A benchmark is a module of this folder with `run() -> list[Figure]`. Nothing in here is shipped.
"""
