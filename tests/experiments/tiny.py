"""Every experiment in a size of seconds."""

from shapband.experiments.baseline_grid import BaselineGrid
from shapband.experiments.digits import Digits
from shapband.experiments.example import Example
from shapband.experiments.latency import Latency
from shapband.experiments.pooled_grid import PooledGrid
from shapband.experiments.scalability import Scalability
from shapband.experiments.sensitivity import Sensitivity
from shapband.experiments.source_budget import SourceBudget

TINY = {
    one.name: one
    for one in (
        Example(replications=60, pools=10),
        BaselineGrid(replications=4, games=(10, 200), n_iter=(100, 1000), pilot_pools=4),
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
