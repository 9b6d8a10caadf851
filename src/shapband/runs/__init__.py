"""Valuations that survive anything: a directory that holds one in progress, and resumes it.

`run` starts, resumes and looks at runs. What it plays comes from a description (`built`); what
it remembers goes to a `store`, one SQLite file (`database`) with five kinds of content: the
manifest, the `ledger` of every source request (kept in a `book`), the records that were bought
(`batches`), the values of `solved` games, and the result. The `journal` is the side of the store
that the engine sees; a `reserve` on the disk keeps room for what is paid for, and a `lock` keeps
a second process out.
"""
