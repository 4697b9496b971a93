"""What prints has no results: there is nothing to compare but that it takes every dtype, and is an instruction of programs.
What it prints is seen by tests/ops/print_test.cpp."""

from suite.cases import Sample, case

case("print", lambda x, label="": (), family="print", large=False,
     samples=[Sample(((),)), Sample(((0,),), {"label": "x"}), Sample(((2, 1),), {"label": 'a "b";'})])
