"""Tensors created without operands."""

import numpy as np
import plait
from plait.inside.arrays.interop import numpy_dtype

from suite.cases import Sample, case

NUMBERS = [dtype for dtype in plait.dtypes if dtype.kind not in ("boolean", "key")]

case("iota", lambda size, dtype=plait.i64: np.arange(size).astype(numpy_dtype(dtype)), family="create", dtypes=(plait.i64,),
     samples=[Sample((), {"size": size, "dtype": dtype}) for dtype in NUMBERS for size in (0, 1, 7)]
     + [Sample((), {"size": 1_000_003}, large=True), Sample((), {"size": 3})],
     result_dtype=lambda dtype, attributes: attributes.get("dtype", plait.i64))
