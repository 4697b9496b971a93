"""plait.distributed: objects arrive as what they were, or are refused by their sender."""

import os
import unittest

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import expect_error


def objects():
    """NumPy's scalars stay scalars, also as keys."""
    dist.init_process_group()
    everyone = [None] * dist.get_world_size()
    sent = {"loss": np.float64(0.5), np.int64(3): np.bool_(True), np.str_("é"): np.str_(""), "at": np.datetime64("2026-01-02"),
            "half": np.float16(2), "b": np.bytes_(b"x"), (np.int8(1), 2): np.complex64(1j)}
    dist.all_gather_object(everyone, sent)
    for found in everyone:
        assert found == sent, found
        assert [type(each) for pair in found.items() for each in pair] == [type(each) for pair in sent.items() for each in pair]
    refusals_of_objects()
    dist.barrier()


def refusals_of_objects():
    everyone, deep, cycle = [None] * dist.get_world_size(), 1, {"a": [1]}
    for _ in range(150):
        deep = [deep]
    dist.all_gather_object(everyone, deep)
    assert everyone == [deep] * len(everyone)
    for _ in range(5000):
        deep = [deep]
    cycle["a"].append(cycle)
    for kind, parts, refused in (
            (pl.errors.TypeError, ["all_gather_object: the object['a'][1] is ", "of the type MaskedArray, which cannot be sent", "np.asarray"],
             {"a": [1, np.ma.array([1, 2], mask=[0, 1])]}),
            (pl.errors.TypeError, ["of the type matrix"], np.asmatrix([[1]])),
            (pl.errors.TypeError, ["all_gather_object: a key of the object[0] is ", "function"], [{print: 1}]),
            (pl.errors.TypeError, ["an item of the object is <object"], {object()}),
            (pl.errors.ValueError, ["all_gather_object: the object['a'][1] contains itself"], cycle),
            (pl.errors.ValueError, ["all_gather_object: the object has lists and dicts in more than 200 others"], deep)):
        expect_error(kind, parts, dist.all_gather_object, everyone, refused)


class Objects(unittest.TestCase):
    def test_objects(self):
        ranks.run(self, os.path.abspath(__file__), "objects", 2)


if __name__ == "__main__":
    ranks.main(globals())
