"""Where providers' records are drawn from.

Every source is finite (it has a `size` and returns the requested rows) or generative (it draws
records with the random generator it receives); `base` holds the two classes. Sources know
nothing of games or budgets: all requests reach them through `shapband.access`.
"""
