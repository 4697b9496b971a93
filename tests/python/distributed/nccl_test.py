"""plait.distributed with the backend nccl, on emulated GPUs: each rank is a process with a GPU of its own."""

import os
import unittest

os.environ["PLAIT_CUDA"] = "emulated"
os.environ["PLAIT_EMULATED_DEVICES"] = "3"

import numpy as np  # noqa: E402
import plait as pl  # noqa: E402
import plait.distributed as dist  # noqa: E402

import ranks  # noqa: E402
from ranks import expect_error  # noqa: E402


def setUpModule():
    if not pl.devices("cuda"):
        raise unittest.SkipTest("the emulated device was not built")


def on_gpu(values):
    return pl.asarray(np.asarray(values)).to(f"cuda:{dist.get_rank()}")


def expect(x, expected):
    assert str(x.device) == f"cuda:{dist.get_rank()}", x.device
    np.testing.assert_array_equal(x.to("cpu").numpy(), expected)


def calls():
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    assert dist.get_backend() == "nccl" and dist.is_nccl_available()
    x = on_gpu(np.arange(5, dtype=np.float32) + rank)
    dist.all_reduce(x)
    expect(x, 2 * np.arange(5) + 1)
    work = dist.all_reduce(x, dist.ReduceOp.MAX, async_op=True)
    work.wait()
    dist.broadcast(x, 1)
    expect(x, 2 * np.arange(5) + 1)
    parts = [on_gpu(np.zeros(each + 1)) for each in range(2)]
    dist.all_gather(parts, on_gpu(np.full(rank + 1, rank + 5.0)))
    expect(parts[0], [5])
    expect(parts[1], [6, 6])
    everyone = pl.zeros((2, 3))  # no place was chosen for it
    dist.all_gather_into_tensor(everyone, on_gpu(np.full(3, rank, np.float32)))
    expect(everyone, [[0, 0, 0], [1, 1, 1]])
    y = on_gpu(np.full(4, rank + 10))
    received = on_gpu(np.zeros(4, int))
    sent = dist.isend(y, 1 - rank)
    dist.recv(received, 1 - rank)
    sent.wait()
    expect(received, np.full(4, 11 - rank))
    scaled = on_gpu([4.0])
    dist.all_reduce(scaled, dist.premul_sum(0.5 if rank == 0 else 0.25))
    expect(scaled, [3])
    objects = [None, None]
    dist.all_gather_object(objects, {"rank": rank, "text": "x" * rank * 100})
    assert objects == [{"rank": 0, "text": ""}, {"rank": 1, "text": "x" * 100}]
    listed = [3, "four"] if rank == 0 else [None, None]
    dist.broadcast_object_list(listed, 0)
    assert listed == [3, "four"]
    dist.destroy_process_group()


def errors():
    dist.init_process_group("cuda:nccl", device_id=2 - dist_rank())
    assert dist.group.WORLD._inner.device() == f"cuda:{2 - dist_rank()}"
    expect_error(pl.errors.DeviceError, ("the tensor is on cpu", "expected one on cuda:"), dist.all_reduce, pl.asarray(np.ones(2)))
    x = pl.asarray(np.ones(3)).to(f"cuda:{2 - dist_rank()}")
    expect_error(pl.errors.DistError, ("receives from a rank that is named",), dist.recv, x)
    if dist_rank() == 0:
        expect_error(pl.errors.DistError, ("ranks disagree", "all_reduce(sum) of f64[3]", "broadcast"), dist.all_reduce, x)
    else:
        expect_error(pl.errors.DistError, ("ranks disagree", "all_reduce(sum) of f64[3]", "broadcast"), dist.broadcast, x, 1)


def dist_rank():
    return int(os.environ["RANK"])


class Nccl(unittest.TestCase):
    def test_calls(self):
        ranks.run(self, __file__, "calls", 2)

    def test_errors(self):
        ranks.run(self, __file__, "errors", 2)

    def test_a_device_is_for_nccl_alone(self):
        with self.assertRaisesRegex(pl.errors.ValueError, "device_id is 0, expected None"):
            dist.init_process_group("local", store=dist.HashStore(), rank=0, world_size=1, device_id=0)


if __name__ == "__main__":
    ranks.main(globals())
