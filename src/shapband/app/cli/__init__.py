"""The command line: `app` is the program, `playing` and `results` hold its commands.

`views` formats their output, `interrupt` handles Ctrl-C, `watch` serves pages of runs, and `folder`
lists the runs in a folder.
"""
