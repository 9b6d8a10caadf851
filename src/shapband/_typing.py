"""Names for types that cross module borders: arrays, and arguments with a rule.

The configuration reads the rules, and names the key of a number that breaks one.
"""

from typing import Annotated, Any, TypeAlias

import numpy as np
from annotated_types import Ge, Gt
from numpy.typing import ArrayLike, NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
MemberArray: TypeAlias = NDArray[np.uint8]  # a coalition in each row, 1 for its members
AnyArray: TypeAlias = NDArray[Any]
Row: TypeAlias = Annotated[ArrayLike, "of one dimension"]
Positive: TypeAlias = Annotated[float, Gt(0)]
NonNegative: TypeAlias = Annotated[float, Ge(0)]
Whole: TypeAlias = Annotated[int, Ge(0)]
