"""Every experiment in a size of seconds."""

from reproduction.baseline_grid import BaselineGrid
from reproduction.digits import Digits
from reproduction.example import Example
from reproduction.latency import Latency
from reproduction.pooled_grid import PooledGrid
from reproduction.scalability import Scalability
from reproduction.sensitivity import Sensitivity
from reproduction.source_budget import SourceBudget

TINY = {
    one.name: one
    for one in (
        Example(replications=60, pools=10),
        BaselineGrid(replications=4, games=(10, 200), n_iter=(100, 300), pilot_pools=4),
        PooledGrid(replications=4, games=(10, 200), n_iter=(100,), pilot_pools=4),
        SourceBudget(
            replications=4, games=(10, 50, 200), n_iter=(100,), budgets=(2500, 6000), pilot_pools=4
        ),
        Digits(replications=3, classes=2, local_games=10, n_iter=None, n_jobs=1),
        Sensitivity(
            replications=4, local_games=10, n_iter=(100,), alphas=(0.5, 0.75, 1.0), pilot_pools=4
        ),
        Scalability(replications=4, players=(10, 100)),
        Latency(replications=2, milliseconds=(0, 10)),
    )
}
# Each of these takes 5 to 15 seconds, so the ordinary tests run the others only.
SLOW = ("baseline-grid", "pooled-grid", "sensitivity", "scalability", "latency")
