"""The line search of Moré and Thuente (1994), as in MINPACK-2 and scipy's L-BFGS-B.

A search keeps an interval that holds a good step in an array of numbers, `state`. It is started by
`begin_search`; `next_step` takes the value and the slope at the last step, and returns the next
one. A step is good if the value has fallen enough and the slope has become flat enough.
"""

import numpy as np
from numba import njit

from shapband.kernels.compiled.lanes import OPTIONS

ENOUGH_FALL = 1e-3  # scipy's constants: `ftol`, `gtol`, `xtol` and the largest step
ENOUGH_FLAT = 0.9
ENOUGH_NARROW = 0.1
LONGEST = 1e10

STATE = 14  # numbers in `state`
(
    BRACKETED,  # 1 if the interval holds a minimum
    FIRST_STAGE,  # 1 until a step has a low value and a rising slope
    VALUE_0,  # value and slope at step 0
    SLOPE_0,
    BEST,  # the best step so far, with its value and slope
    BEST_VALUE,
    BEST_SLOPE,
    OTHER,  # the other end of the interval
    OTHER_VALUE,
    OTHER_SLOPE,
    LOWEST,  # bounds of the next step
    HIGHEST,
    WIDTH,  # widths of the interval, now and one step ago
    WIDTH_BEFORE,
) = range(STATE)


@njit(**OPTIONS)
def begin_search(state, step, value, slope):
    """Prepare a search whose first step is `step`, from the value and slope at step 0."""
    state[:] = 0.0
    state[FIRST_STAGE] = 1.0
    state[VALUE_0] = state[BEST_VALUE] = state[OTHER_VALUE] = value
    state[SLOPE_0] = state[BEST_SLOPE] = state[OTHER_SLOPE] = slope
    state[HIGHEST] = 5.0 * step
    state[WIDTH] = LONGEST
    state[WIDTH_BEFORE] = 2.0 * LONGEST


@njit(**OPTIONS)
def next_step(state, step, value, slope):
    """Return the next step, and whether the search has ended with the one before."""
    fall = ENOUGH_FALL * state[SLOPE_0]
    enough = state[VALUE_0] + step * fall
    if state[FIRST_STAGE] == 1.0 and value <= enough and slope >= 0.0:
        state[FIRST_STAGE] = 0.0
    if _ended(state, step, value, slope, fall, enough):
        return step, True
    # In the first stage the interval is that of the value less the required fall.
    tilt = fall if _tilted(state, value, enough) else 0.0
    step = _narrow(state, step, value - step * tilt, slope - tilt, tilt)
    if state[BRACKETED] == 1.0:
        if abs(state[OTHER] - state[BEST]) >= 0.66 * state[WIDTH_BEFORE]:
            step = state[BEST] + 0.5 * (state[OTHER] - state[BEST])
        state[WIDTH_BEFORE] = state[WIDTH]
        state[WIDTH] = abs(state[OTHER] - state[BEST])
        state[LOWEST] = min(state[BEST], state[OTHER])
        state[HIGHEST] = max(state[BEST], state[OTHER])
    else:
        state[LOWEST] = step + 1.1 * (step - state[BEST])
        state[HIGHEST] = step + 4.0 * (step - state[BEST])
    step = min(max(step, 0.0), LONGEST)
    if state[BRACKETED] == 1.0 and (_outside(state, step) or _is_narrow(state)):
        step = state[BEST]
    return step, False


@njit(**OPTIONS)
def _ended(state, step, value, slope, fall, enough):
    """Whether a step is good, or cannot be improved."""
    if state[BRACKETED] == 1.0 and (_outside(state, step) or _is_narrow(state)):
        return True
    if step == LONGEST and value <= enough and slope <= fall:
        return True
    if step == 0.0 and (value > enough or slope >= fall):
        return True
    return value <= enough and abs(slope) <= -ENOUGH_FLAT * state[SLOPE_0]


@njit(**OPTIONS)
def _tilted(state, value, enough):
    return state[FIRST_STAGE] == 1.0 and value <= state[BEST_VALUE] and value > enough


@njit(**OPTIONS)
def _outside(state, step):
    return step <= state[LOWEST] or step >= state[HIGHEST]


@njit(**OPTIONS)
def _is_narrow(state):
    return state[HIGHEST] - state[LOWEST] <= ENOUGH_NARROW * state[HIGHEST]


@njit(**OPTIONS)
def _narrow(state, step, value, slope, tilt):
    """Narrow the interval by the value and slope at a step, and return the next step."""
    best, best_slope = state[BEST], state[BEST_SLOPE] - tilt
    best_value = state[BEST_VALUE] - best * tilt
    other, other_slope = state[OTHER], state[OTHER_SLOPE] - tilt
    other_value = state[OTHER_VALUE] - other * tilt
    bracketed = state[BRACKETED] == 1.0
    turned = np.sign(slope) * np.sign(best_slope) < 0.0
    if value > best_value:
        cubic = _cubic(best, best_value, best_slope, step, value, slope)
        average = (best_value - value) / (step - best)
        quadratic = best + (best_slope / (average + best_slope)) / 2.0 * (step - best)
        near = abs(cubic - best) <= abs(quadratic - best)
        following = cubic if near else cubic + (quadratic - cubic) / 2.0
        bracketed = True
    elif turned:
        cubic = _cubic(step, value, slope, best, best_value, best_slope)
        secant = step + (slope / (slope - best_slope)) * (best - step)
        following = cubic if abs(cubic - step) > abs(secant - step) else secant
        bracketed = True
    elif abs(slope) < abs(best_slope):
        cubic = _bounded_cubic(state, step, value, slope, best_value, best_slope)
        secant = step + (slope / (slope - best_slope)) * (best - step)
        if bracketed:
            following = cubic if abs(cubic - step) < abs(secant - step) else secant
            most = step + 0.66 * (other - step)
            following = min(most, following) if step > best else max(most, following)
        else:
            following = cubic if abs(cubic - step) > abs(secant - step) else secant
            following = min(max(following, state[LOWEST]), state[HIGHEST])
    elif bracketed:
        following = _cubic(step, value, slope, other, other_value, other_slope)
    else:
        following = state[HIGHEST] if step > best else state[LOWEST]

    if value > best_value:
        other, other_value, other_slope = step, value, slope
    else:
        if turned:
            other, other_value, other_slope = best, best_value, best_slope
        best, best_value, best_slope = step, value, slope
    state[BRACKETED] = 1.0 if bracketed else 0.0
    state[BEST], state[BEST_SLOPE] = best, best_slope + tilt
    state[BEST_VALUE] = best_value + best * tilt
    state[OTHER], state[OTHER_SLOPE] = other, other_slope + tilt
    state[OTHER_VALUE] = other_value + other * tilt
    return following


@njit(**OPTIONS)
def _cubic(a, value_a, slope_a, b, value_b, slope_b):
    """The minimum of the cubic through two points with their slopes."""
    theta = 3.0 * (value_a - value_b) / (b - a) + slope_a + slope_b
    scale = max(abs(theta), abs(slope_a), abs(slope_b))
    gamma = scale * np.sqrt((theta / scale) ** 2 - (slope_a / scale) * (slope_b / scale))
    if b < a:
        gamma = -gamma
    p = (gamma - slope_a) + theta
    q = ((gamma - slope_a) + gamma) + slope_b
    return a + p / q * (b - a)


@njit(**OPTIONS)
def _bounded_cubic(state, step, value, slope, best_value, best_slope):
    """The same where the slope has become flatter: a bound if the cubic has no minimum ahead."""
    best = state[BEST]
    theta = 3.0 * (best_value - value) / (step - best) + best_slope + slope
    scale = max(abs(theta), abs(best_slope), abs(slope))
    square = (theta / scale) ** 2 - (best_slope / scale) * (slope / scale)
    gamma = scale * np.sqrt(max(0.0, square))
    if step > best:
        gamma = -gamma
    p = (gamma - slope) + theta
    q = (gamma + (best_slope - slope)) + gamma
    r = p / q
    if r < 0.0 and gamma != 0.0:
        return step + r * (best - step)
    return state[HIGHEST] if step > best else state[LOWEST]
