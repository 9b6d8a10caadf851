"""The command line: `app` is the program, `playing` and `results` hold its commands.

`views` formats their output, `interrupt` handles Ctrl-C, and `watch` serves the page of a run.
"""
