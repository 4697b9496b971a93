"""Effects. Prints and checks have no results: the suite only checks that they accept every dtype and are
instructions of programs. Their output and errors are tested by tests/ops/effects/print_test.cpp and check_test.cpp."""

import numpy as np
import plait
from plait._core import _testing

from suite.cases import Sample, case

case("print", lambda x, label="", samples=0: (), family="effects", large=False,
     samples=[Sample(((),)), Sample(((0,),), {"label": "x"}), Sample(((2, 1),), {"label": 'a "b";'}),
              Sample(((2, 3),), {"samples": 1})])

case("check", lambda x, message="", samples=0: (), family="effects", large=False, dtypes=(plait.DType("bool"),),
     draw=lambda random, shape, dtype, operand: np.ones(shape, bool),
     samples=[Sample(((),)), Sample(((0,),), {"message": "x"}), Sample(((2, 3),), {"samples": 1})])

case("check_finite", lambda x, label="", samples=0: (), family="effects", large=False, special=False,
     samples=[Sample(((),)), Sample(((0,),), {"label": "x"}), Sample(((2, 3),), {"samples": 1})])

WHOLE = _testing.keep_callback(lambda x: plait.astype(plait.floor(x), plait.DType("i64")))
case("callback", lambda x, function, results, samples=0: np.floor(x).astype(np.int64), family="effects", large=False,
     dtypes=(plait.DType("f64"), plait.DType("f32")), blocks_derivative=True, special=False, small=False,
     samples=[Sample(((3,),), {"function": WHOLE, "results": ["i64[3]"]}),
              Sample(((),), {"function": WHOLE, "results": ["i64[]"]}),
              Sample(((2, 3),), {"function": WHOLE, "results": ["i64[3]"], "samples": 1})])
