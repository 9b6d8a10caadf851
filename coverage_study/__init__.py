"""How often the library's intervals hold, measured over many independent pools.

`tasks` lists the games with known or measurable truth, `settings` what is played, `play` plays one
pool and keeps the intervals at several numbers of games, and `kept` its games. `several` does the
same for statements about several providers at once. `validation` does it with other validation rows
in every repetition, which it draws from `populations`. `store` runs settings in processes and keeps
their results as JSON. `truth` finds what the intervals should hold, `levels` compares, and `page`
writes docs/coverage.md.
"""
