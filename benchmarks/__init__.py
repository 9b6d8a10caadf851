"""Measurements of speed and memory, beside what people use today.

`run.py` makes the environment, runs one module after the other in it, and writes `RESULTS.md`.
Every other module measures one group of requirements and prints its rows as JSON; each can be
run alone with ``python -m benchmarks.<group>`` from the root of the repository.
"""
