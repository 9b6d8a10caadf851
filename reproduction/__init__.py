"""The paper's experiments, run as an ordinary user of the library would run them.

Run ``python -m reproduction`` from the root of the repository. An experiment is a frozen record of
its sizes with three methods: `cells` lists the work, `measure` does one piece of it, and `conclude`
compares the frame of all measurements with the paper. `run` measures the cells that are not on disk
yet, so an interrupted run goes on where it stopped. `claims.toml` lists what the paper claims,
`paper` its printed numbers; `figures` draws, `report` writes.
"""
