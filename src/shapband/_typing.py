"""Names for the array types that cross module borders."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
MemberArray: TypeAlias = NDArray[np.uint8]  # a coalition in each row, 1 for its members
AnyArray: TypeAlias = NDArray[Any]
