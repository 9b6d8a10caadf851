"""The configuration: a TOML file that describes a run, turned into a plan.

`config` reads the file, and builds the plan and its workers. `tables` says which keys a file may
have, `parts` derives the keys of samplings, solvers, indices, participations and utilities from
their classes and makes them, and `messages` words the errors. `sources` reads files and makes
providers, `imports` loads objects of the user's own. `written` writes configurations.
"""
