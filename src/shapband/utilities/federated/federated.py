"""Models that clients train together, in rounds, by federated averaging."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from shapband._facts import facts, name_of
from shapband._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    MemberArray,
    NonNegative,
    Positive,
    Whole,
)
from shapband.checks import check_number, check_whole
from shapband.errors import InvalidInput
from shapband.providers import Provider
from shapband.records.arrays import float_targets
from shapband.records.batch import Batch, Schema
from shapband.records.draws import Draws
from shapband.utilities.base import GameSummaries
from shapband.utilities.classification import ClassScore, check_class_score
from shapband.utilities.embed import BatchCache, Embedding
from shapband.utilities.faults import warn_of_lone_labels
from shapband.utilities.federated.by_round import ByRoundUtility
from shapband.utilities.federated.evaluation import Evaluation
from shapband.utilities.federated.models import FederatedModel, Model
from shapband.utilities.federated.own import (
    FederatedFunctionUtility,
    LocalUpdate,
    ScoreOfParameters,
)
from shapband.utilities.federated.presence import with_presence
from shapband.utilities.federated.rules import Aggregation, RecordsPer, Rules
from shapband.utilities.federated.scoring import LabelRows, Rows, TargetRows, filled
from shapband.utilities.federated.training import Trainer, joined_records
from shapband.utilities.labels import check_labels, label_codes
from shapband.utilities.rows import check_numeric_targets, validation_facts
from shapband.utilities.scores import Empty, Score, check_score
from shapband.utilities.wording import federated_words, score_words

_OWNER = "FederatedUtility"
# All 1,024 coalitions of ten clients are trained if one takes at most this many operations, so that
# a game takes about a second; otherwise the 256 coalitions of eight, where `Strata` would
# choose 160.
_EXACT, _EXACT_OF_FEW, _CHEAP = 10, 8, 3e7
_RECORDS = 100  # records per client for which operations are counted


class FederatedUtility(ByRoundUtility):
    """A coalition is worth the score of the model that its members train by federated averaging.

    All coalitions begin with the same parameters. In every round each member that is present
    starts from the parameters of its coalition and makes `local_steps` steps of gradient descent,
    each with all records of its draw. The mean of the members' parameters becomes the parameters
    of the coalition. If no member is present in a round, the parameters stay. Every coalition is
    trained exactly, from the first round on; coalitions are trained together to save time.

    The loss of a client is a mean over its records: half the squared error, or the log loss. There
    is no penalty. Models have an intercept, which is trained like all other parameters. Features
    are not standardised, unless `embed` does so.

    The labels are those of `y_val`; records with other labels are refused.

    Parameters
    ----------
    model : "linear", "logistic" for two labels, "softmax" for two or more labels, or "network" for
        a classifier with ReLU units, which is logistic for two labels
    X_val : (n_rows, n_features) validation rows
    y_val : (n_rows,) validation targets, or labels: integers or strings
    rounds : number of rounds in a game
    local_steps : number of gradient steps of a client in a round
    learning_rate : length of these steps
    aggregation : "records" to weight members by their numbers of records in the round (FedAvg), or
        "evenly"
    proximal : strength of FedProx, which draws the parameters of a client towards those of its
        coalition: ``proximal / 2`` times their squared distance is added to the loss
    momentum : part of the last change of a coalition's parameters that is added to its next change
        (FedAvgM); a round without any member changes neither
    records_per : "game" to train on the whole draw in every round, or "round" to cut the draw into
        as many equal parts as there are rounds, and train on one part in each round
    hidden : number of units of every hidden layer of a network; by default one layer of 32
    seed : seed of the first weights of a network, which are the same in all games; all other
        models begin with zeros
    score : "accuracy", "neg_log_loss", "neg_brier_score" or "roc_auc"; for a linear model
        "inverse_mse" for 1 / (1 + MSE), "r2" or "neg_mse". By default the first of these
    empty : value of the empty coalition: a number, or "baseline" for the score of a dummy model;
        by default the score of the initial model
    embed : a fitted transformer, such as a scaler, random features or a frozen network; models use
        ``embed.transform(X)`` instead of X. It must treat every row alone

    Notes
    -----
    With one round, each client's parameters after its local steps are the same in all coalitions,
    so they are the summary of a draw, and a coalition costs only their mean and its score.

    Examples
    --------
    >>> import numpy as np, shapband as sb
    >>> X = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    >>> utility = sb.FederatedUtility(
    ...     "logistic", X, ["no", "no", "yes", "yes"], rounds=3, learning_rate=0.5
    ... )
    >>> right = utility.summarise(sb.Batch(X, np.array(["no", "no", "yes", "yes"])))
    >>> wrong = utility.summarise(sb.Batch(X[:2], np.array(["yes", "yes"])))
    >>> utility.evaluate([right, wrong], [0b00, 0b01, 0b10, 0b11]).tolist()
    [0.5, 1.0, 0.0, 1.0]
    """

    schema: Schema
    _counters = (*ByRoundUtility._counters, "_codes")

    def __init__(
        self,
        model: FederatedModel,
        X_val: ArrayLike,
        y_val: ArrayLike,
        *,
        rounds: int = 5,
        local_steps: int = 5,
        learning_rate: Positive = 0.1,
        aggregation: Aggregation = "records",
        proximal: NonNegative = 0.0,
        momentum: NonNegative = 0.0,
        records_per: RecordsPer = "game",
        hidden: Sequence[int] | None = None,
        seed: Whole = 0,
        score: Score | ClassScore | None = None,
        empty: Empty = None,
        embed: Any = None,
    ) -> None:
        self._model = Model.checked(_OWNER, model, hidden, seed)
        rules = Rules.checked(_OWNER, rounds, aggregation, momentum, records_per)
        steps = check_whole(f"{_OWNER}: local_steps", local_steps, 1)
        rate = check_number(f"{_OWNER}: learning_rate", learning_rate, above=0.0)
        strength = check_number(f"{_OWNER}: proximal", proximal, least=0.0)
        self._embed = Embedding(embed, _OWNER)
        self.validation_records, validation, self.schema = self._embed.validation(
            X_val, y_val, _OWNER
        )
        known = score or ("accuracy" if self._model.is_classifier else "inverse_mse")
        self._rows = self._check_rows(validation, known)
        self.score_name = score_words(known)
        n_labels = 0 if self._labels is None else len(self._labels)
        units = self._model.units(validation.X.shape[1], n_labels)
        local = self._model.loss(n_labels), steps, rate, strength
        self._trainer = Trainer(rules, units, self._model.initial(units), local)
        self.rounds, self._round = rules.rounds, rules.rounds  # scored after `_round` rounds
        self._codes = BatchCache()
        self.baseline, self._from_initial = empty == "baseline", empty is None
        self.empty_name = "the initial model" if self._from_initial else ""
        self.empty = 0.0
        if empty is not None and not self.baseline:
            self.empty = check_number(f"{_OWNER}: empty", empty, ', or "baseline"')
        self._score_nobody()
        self._about = facts(
            f'"{model}"',
            validation_facts(validation),
            rounds=self.rounds,
            local_steps=steps,
            learning_rate=rate,
            aggregation=aggregation,
            proximal=strength,
            momentum=rules.momentum,
            records_per=records_per,
            hidden=self._model.hidden,
            seed=seed,
            score=known,
            empty=self.empty,
            embed=None if embed is None else name_of(embed),
        )

    @staticmethod
    def of(
        initial: Sequence[Any],
        local_update: LocalUpdate,
        score: ScoreOfParameters,
        *,
        rounds: int = 5,
        aggregation: Aggregation = "records",
        momentum: NonNegative = 0.0,
        records_per: RecordsPer = "game",
        empty: float | None = None,
    ) -> FederatedFunctionUtility:
        """Make a utility of a model of your own, such as one in PyTorch.

        Every coalition is retrained exactly, one after the other, by calls of two functions. Both
        get copies of the parameters, a list of arrays, and may change them.

        Parameters
        ----------
        initial : list of arrays of numbers, the parameters with which every coalition begins.
            Arrays of float32 and float64 keep their type
        local_update : function ``local_update(parameters, X, y, rng)`` of the parameters of the
            coalition and the records of one client. It returns the client's parameters after its
            local training: a list of arrays of the same shapes. What is random in it must come
            from `rng`, a NumPy generator, which is the same in all coalitions for the same client,
            round and game
        score : function ``score(parameters)`` that returns a number
        rounds, aggregation, momentum, records_per : as in `FederatedUtility`
        empty : value of the empty coalition; by default the score of the initial parameters

        Examples
        --------
        >>> import numpy as np, shapband as sb
        >>> def local_update(parameters, X, y, rng):
        ...     weights, = parameters
        ...     return [weights - 0.1 * X.T @ (X @ weights - y) / len(y)]
        >>> X = np.eye(2)
        >>> utility = sb.FederatedUtility.of(
        ...     [np.zeros(2)], local_update, lambda parameters: parameters[0].sum(), rounds=2
        ... )
        >>> draws = [sb.Batch(X, np.array([1.0, 1.0])), sb.Batch(X, np.array([0.0, 1.0]))]
        >>> utility.evaluate(draws, [0b00, 0b01, 0b11]).round(3).tolist()
        [0.0, 0.195, 0.146]
        """
        rules = Rules.checked(f"{_OWNER}.of", rounds, aggregation, momentum, records_per)
        return FederatedFunctionUtility(initial, local_update, score, rules, empty)

    def _check_rows(self, validation: Batch, score: str) -> Rows:
        """Check the validation rows and the name of the score."""
        X = filled(validation.X)
        if not self._model.is_classifier:
            y = check_numeric_targets(validation.y, _OWNER)
            self._labels = None
            return TargetRows(X, y, check_score(score, y, _OWNER))
        labels = self._labels = check_labels(validation.y, _OWNER)
        self._model.check_labels(_OWNER, len(labels))
        codes = label_codes(validation.y, labels).astype(np.int64)
        return LabelRows(X, codes, len(labels), check_class_score(score, labels, _OWNER))

    def _score_nobody(self) -> None:
        """Set the value of the empty coalition, unless it is a number of the user."""
        if self.baseline:
            self.empty = self._rows.baseline()
        elif self._from_initial:
            self.empty = float(self._evaluation.scores(self._trainer.initial[None])[0, 0])

    @property
    def model_name(self) -> str:  # type: ignore[override]
        return federated_words(self._model.name, self.rounds)

    @property
    def mergeable(self) -> bool:  # type: ignore[override]
        """Whether there is one round, so that summaries are the clients' parameters."""
        return self.rounds == 1

    @property
    def summaries_travel(self) -> bool:  # type: ignore[override]
        """Whether records are summarised before they are sent; with one round, workers train."""
        return self.rounds > 1

    @property
    def any_order(self) -> bool:  # type: ignore[override]
        return self._trainer.rules.records_per == "game"

    @property
    def exact_up_to(self) -> int:
        if self.mergeable:
            return 11
        return _EXACT if self.operations(_EXACT) <= _CHEAP else _EXACT_OF_FEW

    @property
    def labels(self) -> list[Any] | None:
        return None if self._labels is None else self._labels.tolist()

    @property
    def validation_rows(self) -> int:
        return len(self._rows)

    def operations(self, n_providers: int) -> float:
        """Count the operations of training and of the score, for clients with 100 records."""
        size, rows = len(self._trainer.initial), len(self._rows)
        if self._evaluation.uses_products(n_providers):
            return n_providers**2 / 2
        scored = 2.0 * size * rows
        if self.mergeable:
            return scored + size * n_providers
        _, steps, _, _ = self._trainer.local
        return scored + self.rounds * steps * n_providers / 2 * _RECORDS * 4 * size

    def on_rows(self, rows: IntArray) -> FederatedUtility:
        part = copy(self)
        part._rows = self._rows.on(rows)
        part._forgotten()
        part._score_nobody()
        return part

    def check(self, providers: Sequence[Provider]) -> None:
        super().check(providers)
        if self._labels is not None:
            warn_of_lone_labels(providers, self._labels)

    def check_batch(self, batch: Batch) -> None:
        self._known(batch)

    def check_draw_size(self, size: int) -> None:
        self._trainer.rules.check_size(size)

    def features_used(self, batch: Batch) -> FloatArray | None:
        return None if self._embed.transformer is None else self._embed.features(batch)

    def _known(self, batch: Batch) -> tuple[FloatArray, FloatArray]:
        """The features, and the targets or classes, of a batch."""
        X, y = self._embed.features(batch), self._codes.get(batch)
        if y is None:
            if self._labels is None:
                y = float_targets(batch.y)
            else:
                y = label_codes(batch.y, self._labels)
                if (y < 0).any():
                    other = batch.y[int(np.argmax(y < 0))]
                    raise InvalidInput(
                        f"the label {str(other)!r} does not occur in y_val: validate on all labels"
                    )
            self._codes[batch] = y
        return X, y

    def with_presence(self, games: GameSummaries, present: BoolArray) -> GameSummaries:
        return with_presence(games, present, self.rounds)

    def summarise(self, batch: Batch) -> FloatArray:
        """Return targets and features, or with one round the result of the local steps.

        The summary is (n_records, 1 + n_features) with the targets first, and with one round the
        number of records followed by the parameters: (1 + n_parameters,).
        """
        summary: FloatArray = self.summarise_games([Draws.whole(batch)])[0, 0]
        return summary

    def summary_floats(self, draw_size: int) -> int:
        """Return the number of targets and features of a draw, or of parameters."""
        if self.mergeable:
            return 1 + len(self._trainer.initial)
        return draw_size * (1 + int(self._trainer.units[0]))

    def summarise_games(self, draws: Sequence[Draws]) -> FloatArray:
        """Return the summaries of consecutive games: (n_games, n, ...)."""
        for drawn in draws:
            self.check_draw_size(drawn.choice.size)
        games = self._records(draws)
        if not self.mergeable:
            return games
        summaries = np.empty((*games.shape[:2], 1 + len(self._trainer.initial)))
        for g, game in enumerate(games):
            records = joined_records(game)
            summaries[g, :, 0] = records.counts
            summaries[g, :, 1:] = self._trainer.updates(records)
        return summaries

    def _records(self, draws: Sequence[Draws]) -> FloatArray:
        """Targets and features of all draws: (n_games, n, n_records, 1 + d); NaN for none."""
        n_games, most = draws[0].choice.n_games, max(drawn.choice.size for drawn in draws)
        games = np.full((n_games, len(draws), most, 1 + self._trainer.units[0]), np.nan)
        for place, drawn in enumerate(draws):
            X, y = self._known(drawn.batch)
            rows = drawn.rows
            games[:, place, : rows.shape[1], 0] = y[rows]
            for g, of_game in enumerate(rows):
                games[g, place, : rows.shape[1], 1:] = X[of_game]
        return games

    @property
    def _evaluation(self) -> Evaluation:
        return Evaluation(self._trainer, self._rows, self._fold_of, self._n_folds)

    def _values_of(self, game: Sequence[FloatArray], inside: MemberArray) -> FloatArray:
        wanted = range(1, self.rounds + 1) if self._each_round else [self._round]
        return self._evaluation.values(game, inside, wanted, self._nobody)
