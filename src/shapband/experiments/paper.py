"""The paper's numbers, each with the table it is printed in."""

from __future__ import annotations

N_ITER = (100, 200, 500, 1000)

# Table I: (task, metric) -> n_games -> one number for each n_iter. Table II likewise.
_Table = dict[tuple[str, str], dict[int, tuple[float, float, float, float]]]
BASELINE: _Table = {
    ("synthetic", "expectation"): {
        10: (9.16e-05, 4.57e-05, 1.59e-05, 1.12e-05),
        20: (5.19e-05, 2.24e-05, 1.09e-05, 5.56e-06),
        50: (1.83e-05, 9.40e-06, 3.48e-06, 1.44e-06),
        100: (7.70e-06, 4.02e-06, 1.72e-06, 1.06e-06),
        150: (5.88e-06, 3.99e-06, 1.28e-06, 6.05e-07),
        200: (4.67e-06, 1.93e-06, 8.28e-07, 4.94e-07),
    },
    ("wine", "expectation"): {
        10: (1.00e-04, 8.05e-05, 8.73e-05, 6.22e-05),
        20: (5.19e-05, 5.48e-05, 3.35e-05, 3.17e-05),
        50: (2.03e-05, 1.50e-05, 1.50e-05, 1.37e-05),
        100: (1.10e-05, 8.29e-06, 7.70e-06, 6.74e-06),
        150: (6.91e-06, 7.39e-06, 5.62e-06, 5.47e-06),
        200: (6.15e-06, 4.19e-06, 3.80e-06, 3.64e-06),
    },
    ("synthetic", "variance"): {
        10: (1.10e-07, 5.20e-08, 5.15e-09, 2.78e-09),
        20: (1.04e-07, 2.42e-08, 5.67e-09, 4.43e-09),
        50: (2.68e-08, 7.32e-09, 9.03e-10, 5.92e-10),
        100: (2.24e-08, 3.48e-09, 5.96e-10, 7.58e-10),
        150: (7.73e-09, 1.85e-09, 5.00e-10, 8.62e-11),
        200: (1.08e-08, 4.26e-09, 2.81e-10, 2.33e-10),
    },
    ("wine", "variance"): {
        10: (3.11e-07, 1.73e-07, 9.79e-08, 7.90e-08),
        20: (1.24e-07, 7.27e-08, 4.20e-08, 3.66e-08),
        50: (5.50e-08, 2.72e-08, 1.55e-08, 1.60e-08),
        100: (2.15e-08, 1.35e-08, 6.59e-09, 5.70e-09),
        150: (1.60e-08, 8.38e-09, 5.56e-09, 5.04e-09),
        200: (1.43e-08, 6.10e-09, 4.12e-09, 3.23e-09),
    },
}
POOLED: _Table = {
    ("synthetic", "expectation"): {
        10: (4.58e-05, 4.11e-05, 2.47e-05, 1.50e-05),
        50: (2.33e-05, 8.30e-06, 3.10e-06, 2.53e-06),
        100: (1.10e-05, 3.11e-06, 1.58e-06, 9.88e-07),
        200: (3.07e-06, 1.99e-06, 8.36e-07, 3.62e-07),
    },
    ("wine", "expectation"): {
        10: (1.48e-04, 1.02e-04, 1.08e-04, 7.89e-05),
        50: (3.18e-05, 1.86e-05, 3.45e-05, 2.02e-05),
        100: (2.21e-05, 1.87e-05, 2.53e-05, 3.00e-05),
        200: (1.46e-05, 1.21e-05, 2.41e-05, 2.09e-05),
    },
    ("synthetic", "variance"): {
        10: (1.89e-07, 3.78e-08, 5.49e-09, 6.99e-09),
        50: (3.47e-07, 6.69e-09, 2.01e-09, 3.26e-10),
        100: (1.23e-08, 3.24e-09, 5.23e-10, 2.12e-10),
        200: (7.37e-09, 2.57e-08, 1.83e-08, 1.15e-10),
    },
    ("wine", "variance"): {
        10: (2.78e-07, 1.80e-07, 1.46e-07, 1.14e-07),
        50: (5.00e-08, 3.15e-08, 2.00e-08, 2.02e-08),
        100: (3.78e-08, 1.49e-08, 1.03e-08, 8.51e-09),
        200: (1.42e-08, 1.04e-08, 4.64e-09, 5.23e-09),
    },
}

# Table III: (metric, n_iter, method, n_games) -> number.
SOURCE_BUDGET: dict[tuple[str, int, str, int], float] = {
    ("expectation", 100, "fresh", 4): 3.51e-4,
    ("expectation", 100, "pooled", 50): 3.18e-5,
    ("expectation", 100, "pooled", 200): 1.46e-5,
    ("expectation", 100, "stratified", 50): 3.24e-5,
    ("expectation", 100, "stratified", 200): 3.45e-5,
    ("expectation", 1000, "fresh", 4): 2.03e-4,
    ("expectation", 1000, "pooled", 50): 2.02e-5,
    ("expectation", 1000, "pooled", 200): 2.09e-5,
    ("expectation", 1000, "stratified", 50): 3.90e-5,
    ("expectation", 1000, "stratified", 200): 2.71e-5,
    ("variance", 100, "fresh", 4): 6.43e-7,
    ("variance", 100, "pooled", 50): 5.00e-8,
    ("variance", 100, "pooled", 200): 1.42e-8,
    ("variance", 100, "stratified", 50): 5.15e-8,
    ("variance", 100, "stratified", 200): 1.93e-8,
    ("variance", 1000, "fresh", 4): 2.88e-7,
    ("variance", 1000, "pooled", 50): 2.02e-8,
    ("variance", 1000, "pooled", 200): 5.23e-9,
    ("variance", 1000, "stratified", 50): 1.94e-8,
    ("variance", 1000, "stratified", 200): 7.22e-9,
}
# Section IV-E: (metric, n_games) -> range of the reductions.
SOURCE_BUDGET_REDUCTIONS = {
    ("expectation", 50): (0.807, 0.909),
    ("expectation", 200): (0.866, 0.958),
    ("variance", 50): (0.920, 0.933),
    ("variance", 200): (0.970, 0.982),
}

# Section IV-F, digits: reductions of (Var(E), Var(Var)), and the baseline's numbers.
DIGITS_BASELINE = {"expectation": 4.220e-7, "variance": 4.510e-12}
DIGITS_REDUCTIONS = {
    ("pooled", "expectation"): 0.531,
    ("pooled", "variance"): 0.745,
    ("stratified", "expectation"): 0.567,
    ("stratified", "variance"): 0.779,
}
DIGITS_ACCURACY = 0.9648

# Section IV-F, sensitivity: ranges of the reductions over all settings.
SENSITIVITY_REDUCTIONS = {"expectation": (0.549, 0.926), "variance": (0.746, 0.966)}
LARGEST_ALLOCATION = 94

# Table IV: (n, method) -> Var(E), Var(Var), MAE of E, MAE of Var.
SCALABILITY: dict[tuple[int, str], tuple[float, float, float, float]] = {
    (10, "fresh"): (2.08e-3, 6.51e-5, 2.73e-2, 4.13e-3),
    (10, "pooled"): (2.11e-3, 7.47e-6, 2.63e-2, 1.28e-3),
    (10, "stratified"): (2.35e-3, 1.24e-5, 2.75e-2, 1.46e-3),
    (100, "fresh"): (1.46e-3, 6.49e-5, 2.37e-2, 3.41e-3),
    (100, "pooled"): (1.29e-3, 3.66e-6, 2.27e-2, 8.39e-4),
    (100, "stratified"): (1.27e-3, 4.47e-6, 2.28e-2, 9.28e-4),
    (1000, "fresh"): (1.31e-3, 5.58e-5, 2.24e-2, 3.25e-3),
    (1000, "pooled"): (1.39e-3, 3.87e-6, 2.31e-2, 8.84e-4),
    (1000, "stratified"): (1.35e-3, 3.74e-6, 2.29e-2, 8.75e-4),
}
# Section IV-F, scalability: ranges over all n of the reductions against the baseline.
SCALABILITY_REDUCTIONS = {
    ("pooled", "mae_variance"): (0.690, 0.754),
    ("pooled", "variance"): (0.885, 0.944),
    ("stratified", "mae_variance"): (0.646, 0.779),
    ("stratified", "variance"): (0.810, 0.968),
}

# Table V: (latency in ms, method) -> access, non-access and wall seconds, speedup.
LATENCY: dict[tuple[int, str], tuple[float, float, float, float]] = {
    (0, "fresh"): (0.00149, 1.323, 1.324, 1.000),
    (0, "pooled"): (0.00033, 1.330, 1.331, 0.995),
    (0, "stratified"): (0.00031, 1.330, 1.330, 0.995),
    (10, "fresh"): (0.6222, 1.379, 2.002, 1.000),
    (10, "pooled"): (0.1245, 1.333, 1.458, 1.374),
    (10, "stratified"): (0.1222, 1.358, 1.480, 1.353),
    (50, "fresh"): (2.7345, 1.462, 4.196, 1.000),
    (50, "pooled"): (0.5446, 1.361, 1.906, 2.202),
    (50, "stratified"): (0.5453, 1.361, 1.906, 2.202),
}
