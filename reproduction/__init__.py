"""The paper's experiments, run with the public interface of the library.

Run ``python -m reproduction`` from the root of the repository. An experiment is a frozen
dataclass of its sizes with three methods: `cells` lists the units of work, `measure` does one unit,
and `conclude` compares the frame of all measurements with the paper. `run` measures the cells that
are not on disk yet, so an interrupted run resumes where it stopped. `claims.toml` lists the claims
of the paper, and `paper` its printed numbers; `figures`, `report` and `latex` write the results.
`changes` gives one experiment other sizes (``--set n_boot=40``); its results are kept apart.
"""
