"""Records in a database, fetched by their key.

`source` holds the public class. It asks a `Database` (`databases`, with the drivers in `links`),
which lends connections from a pool. `statements` builds every statement with SQLAlchemy, so that
names are quoted and values are bound. `keys` turns the rows that a game chose into keys, and
`answers` turns rows of a database into records. `failures` tells errors that may pass from others.
"""
