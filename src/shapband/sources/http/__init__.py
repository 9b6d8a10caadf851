"""Records behind an HTTP endpoint, by the protocol of docs/connect-http.md.

`source` has the public class. It sends requests with the `client`, which limits the time and the
size of an answer and sorts failures into those that may pass and the others. `layout` describes
the columns that a server announces, and `tables` reads and writes them as JSON or Arrow. The
reference server in `shapband.testing` uses the same two files.
"""
