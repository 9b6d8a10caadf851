"""The command line: `app` is the program, `playing` and `results` hold its commands.

`views` is what they print, `interrupt` handles Ctrl-C, and `watch` serves the page of a run.
"""
