"""Measurements of speed, memory and errors, compared with other libraries.

`run.py` makes an environment, runs the modules in it one by one, and writes `RESULTS.md`.
Every other module measures one group of requirements and prints its rows as JSON; each can be
run alone with ``python -m benchmarks.<group>`` from the root of the repository. These modules only
serve others: `harness`, `games`, `operations`, and for the group `solvers` those whose names begin
with `solver_`, `oracles` and `newest_peers`.
"""
