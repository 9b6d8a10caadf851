"""Runs: a valuation described by one file, kept in one directory, and resumed after anything.

The description: `config` reads the file and builds what it describes; `tables` says what may stand
in it, `complaints` words the errors, `sources`, `utilities` and `objects` make the things it names.

The directory: `run` starts, resumes and looks at runs. What it remembers goes to a `store`, one
SQLite file (`database`) with five kinds of content: the manifest, the `ledger` of every source
request (kept in a `book`), the records that were bought (`batches`), the values of `solved` games,
and the result. The `journal` is the side of the store that the engine sees; a `reserve` on the disk
keeps room for what is paid for, and a `lock` keeps a second process out. A run that goes on is
made again from its description; `fingerprints` and `versions` show what changed since it began.

The commands: `views` says what they print, `compare` whether two runs differ, `watch` what is
shown while games are played, and `interrupt` what Ctrl-C does.
"""
