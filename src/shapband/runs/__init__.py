"""Runs: a valuation kept in one directory, which can be resumed after any interruption.

`run` begins and resumes runs; `read` shows them, whether or not a process is at work. Everything
is kept in a `store`, one SQLite file (`database`) that holds the manifest, the `ledger` of every
source request, the records that were bought (`purchases`, as bytes in `batches`), the `solved`
games, and the result. A `reserve` on the disk keeps room for paid records, and a `lock` keeps a
second process out. Before a run is resumed, `fingerprints`, `own_code` (with the names that
`bytecode` finds) and `versions` show what changed since it began. `extending` decides which
changed arguments extend a run; the ledger keeps the `extensions`.
"""
