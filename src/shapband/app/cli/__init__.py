"""The command line: `app` holds the commands, `views` what they print, `interrupt` Ctrl-C."""
