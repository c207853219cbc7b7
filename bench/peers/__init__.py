"""Veraz beside what people would pick instead: adapters, the process that runs one, arithmetic and report.

`bench/against_peers.py` runs it. `worker.py` and `adapters/` import nothing of Veraz but in its own adapter: they run in a
virtualenv of their own.
"""
