"""The line search of Moré and Thuente (1994), as in MINPACK-2 and in scipy's L-BFGS-B.

A search keeps an interval that contains a good step, with the value and the slope of the function
at both ends. A step is good if the value has fallen enough and the slope is flat enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

LONGEST = 1e10  # the largest step that is tried
_FALL, _FLAT, _NARROW = 1e-3, 0.9, 0.1  # scipy's `ftol`, `gtol` and `xtol`


@dataclass(frozen=True)
class Point:
    """A step with the value and the slope of the function there."""

    step: float
    value: float
    slope: float

    def tilted(self, by: float) -> Point:
        """Return the point of the function minus a line through the origin with slope `by`."""
        return Point(self.step, self.value - by * self.step, self.slope - by)


class LineSearch:
    """A search for a good step.

    Parameters
    ----------
    value, slope : of the function at step 0
    first : the first step that will be tried

    Examples
    --------
    >>> search = LineSearch(value=9.0, slope=-6.0, first=1.0)  # of (3 - step) ** 2
    >>> search.following(Point(1.0, 4.0, -4.0)) is None
    True
    >>> LineSearch(9.0, -6.0, 8.0).following(Point(8.0, 25.0, 10.0))
    3.0
    """

    def __init__(self, value: float, slope: float, first: float) -> None:
        self._start = self._best = self._other = Point(0.0, value, slope)
        self._bracketed, self._first_stage = False, True
        self._low, self._high = 0.0, 5.0 * first
        self._width, self._width_before = LONGEST, 2.0 * LONGEST

    def following(self, tried: Point) -> float | None:
        """Return the step to try next, or None if the step that was tried is accepted."""
        fall = _FALL * self._start.slope
        enough = self._start.value + tried.step * fall
        if tried.value <= enough and tried.slope >= 0.0:
            self._first_stage = False
        if self._ended(tried, fall, enough):
            return None
        # In the first stage, narrow the interval for the function minus the required decrease.
        tilted = self._first_stage and enough < tried.value <= self._best.value
        step = self._narrowed(tried, fall if tilted else 0.0)
        if self._bracketed:
            ends = self._best.step, self._other.step
            if abs(ends[1] - ends[0]) >= 0.66 * self._width_before:
                step = ends[0] + 0.5 * (ends[1] - ends[0])
            self._width_before, self._width = self._width, abs(ends[1] - ends[0])
            self._low, self._high = min(ends), max(ends)
        else:
            self._low = step + 1.1 * (step - self._best.step)
            self._high = step + 4.0 * (step - self._best.step)
        step = min(max(step, 0.0), LONGEST)
        return self._best.step if self._exhausted(step) else step

    def _ended(self, tried: Point, fall: float, enough: float) -> bool:
        """Whether a step is good, or cannot be improved."""
        fallen = tried.value <= enough
        return (
            self._exhausted(tried.step)
            or (tried.step == LONGEST and fallen and tried.slope <= fall)
            or (tried.step == 0.0 and (not fallen or tried.slope >= fall))
            or (fallen and abs(tried.slope) <= -_FLAT * self._start.slope)
        )

    def _exhausted(self, step: float) -> bool:
        """Whether a step is outside the interval, or the interval is narrow."""
        outside = not self._low < step < self._high
        return self._bracketed and (outside or self._high - self._low <= _NARROW * self._high)

    def _narrowed(self, tried: Point, tilt: float) -> float:
        """Narrow the interval by a point, and return the step to try next."""
        best, other, point = (one.tilted(tilt) for one in (self._best, self._other, tried))
        turned = point.slope * best.slope < 0.0
        higher = point.value > best.value
        if higher:
            step = _beyond_a_minimum(best, point)
        elif turned:
            step = _farther(point.step, _cubic(point, best), _secant(point, best))
        elif abs(point.slope) < abs(best.slope):
            step = self._flatter(best, point)
        elif self._bracketed:
            step = _cubic(point, other)
        else:
            step = self._high if point.step > best.step else self._low
        self._bracketed = self._bracketed or higher or turned
        if higher:
            self._other = tried
        else:
            if turned:
                self._other = self._best
            self._best = tried
        return step

    def _flatter(self, best: Point, point: Point) -> float:
        """The next step if the slope became flatter: the minimum may be far away."""
        ahead = point.step > best.step
        cubic = _cubic_ahead(best, point)
        cubic = (self._high if ahead else self._low) if cubic is None else cubic
        secant = _secant(point, best)
        if not self._bracketed:
            step = _farther(point.step, cubic, secant)
            return min(max(step, self._low), self._high)
        step = cubic if abs(cubic - point.step) < abs(secant - point.step) else secant
        most = point.step + 0.66 * (self._other.step - point.step)
        return min(most, step) if ahead else max(most, step)


def _farther(origin: float, cubic: float, secant: float) -> float:
    return cubic if abs(cubic - origin) > abs(secant - origin) else secant


def _secant(a: Point, b: Point) -> float:
    """Where the line through two slopes is zero."""
    return a.step + a.slope / (a.slope - b.slope) * (b.step - a.step)


def _beyond_a_minimum(best: Point, point: Point) -> float:
    """A step between two points, the second of which has the higher value."""
    length = point.step - best.step
    average = (best.value - point.value) / length
    quadratic = best.step + best.slope / (average + best.slope) / 2.0 * length
    cubic = _cubic(best, point)
    if abs(cubic - best.step) <= abs(quadratic - best.step):
        return cubic
    return cubic + (quadratic - cubic) / 2.0


def _cubic(a: Point, b: Point) -> float:
    """The minimum of the cubic through two points with their slopes."""
    theta, gamma = _coefficients(a, b)
    p = (gamma - a.slope) + theta
    q = ((gamma - a.slope) + gamma) + b.slope
    return a.step + (p / q if q else 0.5) * (b.step - a.step)


def _cubic_ahead(best: Point, point: Point) -> float | None:
    """The minimum of the cubic if it lies beyond the second point, else None."""
    theta, gamma = _coefficients(point, best)
    p = (gamma - point.slope) + theta
    q = (gamma + (best.slope - point.slope)) + gamma
    if gamma == 0.0 or q == 0.0 or p / q >= 0.0:
        return None
    return point.step + p / q * (best.step - point.step)


def _coefficients(a: Point, b: Point) -> tuple[float, float]:
    theta = 3.0 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope
    scale = max(abs(theta), abs(a.slope), abs(b.slope))
    if scale == 0.0:
        return 0.0, 0.0
    square = (theta / scale) ** 2 - (a.slope / scale) * (b.slope / scale)
    gamma = scale * sqrt(max(0.0, square))
    return theta, -gamma if b.step < a.step else gamma
