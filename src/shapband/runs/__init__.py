"""Runs: a valuation described by one file and kept in one directory.

`config` reads the file and builds what it describes: `tables` says what may stand in it,
`complaints` words the errors, `sources`, `utilities` and `objects` make the things it names.
`views` says what the commands print, `compare` whether two runs differ, `watch` what is shown
while games are played, and `interrupt` what Ctrl-C does.
"""
