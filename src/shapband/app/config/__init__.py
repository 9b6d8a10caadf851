"""The configuration: a TOML file that describes a run, turned into a plan.

`config` reads the file, and builds the plan and its workers. `tables` says which keys a file may
have, `parts` derives those of samplings and solvers from their dataclasses, and `messages` words
the errors. `sources`, `utilities` and `imports` make the objects that the file names. `starter`
writes the file of `shapband init`.
"""
