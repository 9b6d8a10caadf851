"""
A solver of one's own
=====================

A solver computes the values of one game from the values of coalitions. This one walks along
random permutations of the providers, and along each of them backwards too.
"""

import textwrap
from dataclasses import dataclass

import numpy as np

import shapband as sb

# %%
# A solver has three methods. ``check`` may refuse games that are too large, ``floats_per_game``
# says how much memory a game takes, and ``solve`` returns the values of some games, with the
# variance of the solver's own error.


@dataclass(frozen=True)
class Mirrored(sb.Solver):
    n_pairs: int = 10

    def check(self, n_providers):
        pass

    def floats_per_game(self, n_providers):
        return 16 * self.n_pairs * n_providers

    def solve(self, games):
        orders = sb.extend.random_orders(games, self.n_pairs)
        both = np.concatenate([orders, orders[:, :, ::-1]], axis=1)
        values, evaluations = games.prefixes(both)
        marginals = sb.extend.marginal_contributions(both, values, games.utility.empty, games.index)
        pairs = (marginals[:, : self.n_pairs] + marginals[:, self.n_pairs :]) / 2
        return sb.Solution(pairs.mean(axis=1), sb.extend.variance_of_mean(pairs), evaluations)


# %%
# ``check_solver`` plays games whose values are known, and tests that the stated errors are right.
# It raises an error that names the rule, if one is broken.

sb.testing.check_solver(Mirrored())

# %%
# The next solver breaks a rule on purpose: it lowers all values by a tenth, so they no longer add
# up to the value of all providers together.


class Lowered(Mirrored):
    def solve(self, games):
        solution = super().solve(games)
        return sb.Solution(0.9 * solution.values, solution.noise, solution.evaluations)


try:
    sb.testing.check_solver(Lowered())
except sb.errors.ConformanceError as error:
    print(textwrap.fill(str(error), 90))

# %%
# Here are the ten wine providers with this solver, with plain permutations and exactly. Plain
# permutations walk along twice as many, so they evaluate about as many coalitions.

task = sb.datasets.wine()
solvers = {"exact": sb.Exact(), "mirrored": Mirrored(10), "permutations": sb.Permutation(20)}
valued = {
    name: sb.value(
        task.providers, task.utility, sampling=sb.Fresh(60), solver=solver, n_games=40, seed=0
    )
    for name, solver in solvers.items()
}
for name, one in valued.items():
    off = np.sqrt(one.solver_variance.mean())
    print(f"{name:12} {one.evaluations:7,} evaluations, error of one game {off:.4f}")

# %%
# The solver's own error is part of the error of an expectation, so its intervals stay honest.

valued["exact"].plot.beside("exact", {name: one for name, one in valued.items() if name != "exact"})
