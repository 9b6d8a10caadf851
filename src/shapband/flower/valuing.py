"""The values of the clients of a Flower app."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Strategy

from shapband._value import value as value_providers
from shapband.errors import InvalidInput
from shapband.flower.nodes import Clients
from shapband.flower.providers import OwnRecords
from shapband.flower.utility import FlowerUtility
from shapband.sampling.base import Sampling
from shapband.valuation.valuation import Valuation


def value(
    app: ClientApp | Grid,
    clients: Clients | Mapping[str, int],
    strategy: Callable[[], Strategy],
    initial_arrays: ArrayRecord,
    score: Callable[[ArrayRecord], float],
    *,
    num_rounds: int = 3,
    records: Mapping[str, int] | None = None,
    sampling: Sampling | None = None,
    empty: float | None = None,
    run_config: Mapping[str, Any] | None = None,
    train_config: ConfigRecord | None = None,
    evaluate_config: ConfigRecord | None = None,
    absent_on_error: bool = False,
    deterministic: bool = False,
    **options: Any,
) -> Valuation:
    """Estimate the expectation and variance of the value of every client of a Flower app.

    Every coalition of clients is trained from the initial model, exactly, by the strategy and the
    app as they are. Games differ by the draws of the clients' records, if the app asks `draw` for
    its rows, and by the random numbers of the training. The strategy and the app get the same
    random numbers in all coalitions of a game.

    Parameters
    ----------
    app : the ClientApp, which is run in this process, or the grid that a ServerApp receives. A grid
        needs an app without `context.state`, because Flower keeps it from one training to the next
    clients : names of the clients, or their node configurations by name, as in `InProcessGrid`;
        with a grid, their node IDs by name
    strategy : a function without arguments that returns a new Strategy. It must start with one
        node, as ``FedAvg(min_train_nodes=1, min_evaluate_nodes=1, min_available_nodes=1)`` does
    initial_arrays : the initial model
    score : a function of the final arrays, such as the accuracy on validation rows
    num_rounds : rounds of training
    records : number of records of each client, from which games draw; the app asks `draw` for the
        rows. None if the app trains on its own records as they are
    sampling : how games draw records, as in `shapband.value`; only with `records`
    empty : value of the empty coalition; None is the score of the initial model
    run_config : `context.run_config` in the app
    train_config, evaluate_config : configurations that `Strategy.start` sends to the clients
    absent_on_error : True takes an exception of a client's app as absence from that round, as
        Flower's strategies do; False ends the valuation with an error that names the client
    deterministic : True promises that the same clients with the same records always train the same
        model. Then ``n_games=1`` is enough without `records`. The promise is checked with two
        trainings of all clients
    options : further arguments of `shapband.value`: `solver`, `index`, `n_games`, `seed`, `n_jobs`,
        `workers`, `stop`, `participation`, `run` and so on

    Returns
    -------
    The moments of every client's value, as from `shapband.value`.

    Examples
    --------
    >>> import numpy as np
    >>> from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    >>> from flwr.clientapp import ClientApp
    >>> from flwr.serverapp.strategy import FedAvg
    >>> import shapband.flower as sf
    >>> app = ClientApp()
    >>> @app.train()
    ... def train(message, context):
    ...     update = ArrayRecord([np.array([1.0 + context.node_config["partition-id"]])])
    ...     content = RecordDict({"arrays": update, "metrics": MetricRecord({"num-examples": 1})})
    ...     return Message(content, reply_to=message)
    >>> def strategy():
    ...     return FedAvg(fraction_evaluate=0.0, min_train_nodes=1, min_available_nodes=1)
    >>> valuation = sf.value(
    ...     app, ["north", "south"], strategy, ArrayRecord([np.zeros(1)]),
    ...     lambda arrays: arrays.to_numpy_ndarrays()[0][0],
    ...     num_rounds=1, deterministic=True, n_games=1, seed=0)
    >>> valuation.expectation.tolist()
    [0.25, 1.25]
    """
    utility = FlowerUtility(
        app,
        clients,
        strategy,
        initial_arrays,
        score,
        num_rounds=num_rounds,
        records=records,
        empty=empty,
        run_config=run_config,
        train_config=train_config,
        evaluate_config=evaluate_config,
        absent_on_error=absent_on_error,
        deterministic=deterministic,
    )
    if records is None and sampling is not None:
        raise InvalidInput(
            "sampling must be left out without records, because games draw no records: pass "
            "records, the number of records of each client, or leave sampling out"
        )
    if isinstance(app, Grid) and (options.get("n_jobs", 1) != 1 or options.get("workers")):
        raise InvalidInput(
            "n_jobs must be 1 and workers None if app is a grid, because other processes cannot "
            "use it: pass the ClientApp to train in several processes"
        )
    chosen = OwnRecords() if records is None else sampling
    return value_providers(utility.providers, utility, sampling=chosen, **options)
