"""Where providers' records are drawn from.

Every source is finite (it has a `size` and gives the rows it is asked for) or generative (it
draws for itself with the generator it is handed); `base` holds the two classes. Sources know
nothing of games or budgets: all requests reach them through `shapband.access`.
"""
