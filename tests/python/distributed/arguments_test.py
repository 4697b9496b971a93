"""plait.distributed: every argument is checked before anything is sent; errors name the call, the argument, and what was expected."""

import contextlib
import datetime
import inspect
import os
import tempfile
import unittest
import warnings

import numpy as np
import plait as pl
import plait.distributed as dist

import ranks
from ranks import expect_error

GIVEN = (None, 3, 1.5, -1, 2**40, True, "a", "0", b"a", [], [None], ["a"], [1.5], {}, object(), float("nan"), np.ones(2), "\ud800")


def alone():
    """A group of one rank, in place of another one."""
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1, timeout=5)


def arguments_of_calls():
    """Arguments with which each public function and class works in a group of one rank: those that are required, and few others."""
    x, y, store = pl.ones(2), pl.zeros(2), dist.HashStore()
    store.set_timeout(0.05)
    of_lists = {"all_gather": {"tensor_list": [y], "tensor": x}, "gather": {"tensor": x, "gather_list": [y]},
                "scatter": {"tensor": y, "scatter_list": [x]}, "reduce_scatter": {"output": y, "input_list": [x]},
                "all_to_all": {"output_tensor_list": [y], "input_tensor_list": [x]}, "all_reduce_coalesced": {"tensors": [x]},
                "all_gather_coalesced": {"output_tensor_lists": [[y]], "input_tensor_list": [x]}}
    of_tensors = {"all_reduce": {"tensor": x}, "broadcast": {"tensor": x, "src": 0}, "reduce": {"tensor": x, "dst": 0},
                  "all_gather_into_tensor": {"output_tensor": y, "input_tensor": x}, "reduce_scatter_tensor": {"output": y, "input": x},
                  "all_to_all_single": {"output": y, "input": x}, "isend": {"tensor": x, "dst": 0}, "send": {"tensor": x, "dst": 0},
                  "irecv": {"tensor": y}, "recv": {"tensor": y}, "P2POp": {"op": dist.isend, "tensor": x, "peer": 0},
                  "batch_isend_irecv": {"p2p_op_list": [dist.P2POp(dist.irecv, x)]}}
    of_objects = {"all_gather_object": {"object_list": [None], "obj": 1}, "gather_object": {"obj": 1, "object_gather_list": [None]},
                  "broadcast_object_list": {"object_list": [1]}, "send_object_list": {"object_list": [1], "dst": 0},
                  "recv_object_list": {"object_list": [None]},
                  "scatter_object_list": {"scatter_object_output_list": [None], "scatter_object_input_list": [1]}}
    of_groups = {"init_process_group": {"store": dist.HashStore(), "rank": 0, "world_size": 1}, "new_group": {"ranks": [0]},
                 "get_global_rank": {"group": None, "group_rank": 0}, "get_group_rank": {"group": None, "global_rank": 0},
                 "new_subgroups_by_enumeration": {"ranks_per_subgroup_list": [[0]]}, "split_group": {"split_ranks": [[0]]},
                 "is_backend_available": {"backend": "local"}, "Backend": {"name": "gloo"}, "get_node_local_rank": {"fallback_rank": 0},
                 "ProcessGroup": {"inner": 0, "ranks": [0]}, "Work": {"inner": 0}}
    of_stores = {"Store": {"inner": 0}, "FileStore": {"file_name": "store"}, "PrefixStore": {"prefix": "a", "store": store},
                 "TCPStore": {"host_name": "localhost", "port": 0, "is_master": True, "timeout": 0.2}}
    return {**of_lists, **of_tensors, **of_objects, **of_groups, **of_stores}


def arguments_of_methods():
    """The same of methods of a store and of a call in progress: (object, name, arguments)."""
    store, work = dist.HashStore(), dist.all_reduce(pl.ones(2), async_op=True)
    store.set_timeout(0.05)
    store.set("k", "1")
    for name, arguments in {"set": {"key": "k", "value": "1"}, "get": {"key": "k"}, "add": {"key": "k", "amount": 1},
                            "append": {"key": "k", "value": "1"}, "delete_key": {"key": "k"}, "check": {"keys": ["k"]}, "wait": {"keys": ["k"]},
                            "compare_set": {"key": "k", "expected_value": "", "desired_value": ""}, "multi_get": {"keys": ["k"]},
                            "multi_set": {"keys": ["k"], "values": ["1"]}, "set_timeout": {"timeout": 0.05}}.items():
        yield store, f"Store.{name}", arguments
    yield work, "Work.wait", {}


def problem_of(name, call, arguments):
    """None if the call succeeds, or its error is one for users, which begins with its name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**arguments)
    except pl.errors.DistError:
        return None  # the argument is fine: others do not answer
    except (pl.errors.Error, TypeError, ValueError) as error:
        said = str(error).removeprefix(f"{type(error).__name__}: ")
        return None if said.startswith(name) and "incompatible function" not in said else f"{type(error).__name__}: {said}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


class Arguments(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.addCleanup(lambda: dist.is_initialized() and dist.destroy_process_group())

    def places(self, name, call):
        """(parameter, number of a value) of each value that a parameter is given."""
        for parameter in inspect.signature(call).parameters:
            for i, given in enumerate(GIVEN):
                if parameter != "host_name" or not isinstance(given, str):  # the system says what it thinks of hosts
                    yield parameter, i

    def prepared(self, name):
        """The arguments of a call, which has what it needs: a group of its own, or none."""
        alone()
        arguments = arguments_of_calls().get(name, {})
        if name == "init_process_group":
            dist.destroy_process_group()
        return arguments

    def test_every_parameter_of_every_function(self):
        problems, count = [], 0
        for name in dist.__all__:
            call = getattr(dist, name)
            if not callable(call) or name == "DistributedSampler" or name.endswith("Error"):  # that of plait.data; those of plait.errors
                continue
            for parameter, i in self.places(name, call):
                arguments = {**self.prepared(name), parameter: GIVEN[i]}
                if "timeout" in inspect.signature(call).parameters:
                    arguments.setdefault("timeout", 0.5)
                problem, count = problem_of(name, call, arguments), count + 1
                problems += [f"{name}({parameter}={GIVEN[i]!r}): {problem}"] if problem else []
        self.assertEqual(problems, [], "\n".join(problems))
        self.assertGreater(count, 2500)

    def test_every_parameter_of_methods(self):
        alone()
        problems = []
        for thing, name, arguments in arguments_of_methods():
            call = getattr(thing, name.split(".")[1])
            for parameter, i in self.places(name, call):
                problem = problem_of(name, call, {**arguments, parameter: GIVEN[i]})
                problems += [f"{name}({parameter}={GIVEN[i]!r}): {problem}"] if problem else []
        self.assertEqual(problems, [], "\n".join(problems))


def two_types():
    """Tensors of another dtype or shape are refused before anything is sent: the group goes on."""
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    x, i, small = pl.ones(2), pl.tensor([1, 2]), pl.ones(3)

    def several(*tensors):
        return [tensors[min(place, len(tensors) - 1)] for place in range(size)]

    types, shapes, kinds = pl.errors.TypeError, pl.errors.ShapeError, ["expected one dtype", "astype"]
    of_input = f"where input_tensor_list[{rank}] is f32[2]"
    for error, parts, function, *arguments in (
            (types, ["all_gather: tensor_list[0] is i64[2] where tensor is f32[2]", *kinds], dist.all_gather, several(i), x),
            (types, ["all_gather: tensor_list[1] is i64[2] where tensor is f32[2]"], dist.all_gather, several(x, i), x),
            (shapes, [f"all_gather: tensor_list[{rank}] is f32[3] where tensor is f32[2]"], dist.all_gather, several(small), x),
            (shapes, ["f32[3, 2] where tensor is f32[2, 3]"], dist.all_gather, several(pl.zeros(3, 2)), pl.zeros(2, 3)),
            (types, ["all_gather_into_tensor: output_tensor is i8[4] where input_tensor is i64[2]"], dist.all_gather_into_tensor,
             pl.zeros(2 * size, dtype="i8"), i),
            (types, ["reduce_scatter: input_list[1] is i64[2] where output is f32[2]"], dist.reduce_scatter, x, several(x, i)),
            (shapes, [f"reduce_scatter: input_list[{rank}] is f32[2] where output is f32[3]"], dist.reduce_scatter, small, several(x)),
            (types, ["reduce_scatter_tensor: output is bool[2] where input is f32[4]"], dist.reduce_scatter_tensor, pl.zeros(2, dtype="bool"),
             pl.ones(2 * size)),
            (types, [f"all_to_all: output_tensor_list[0] is i64[2] {of_input}"], dist.all_to_all, several(i), several(x)),
            (types, ["all_to_all: input_tensor_list["], dist.all_to_all, several(x), several(x, i)),
            (shapes, [f"all_to_all: output_tensor_list[{rank}] is f32[3] {of_input}"], dist.all_to_all, several(small), several(x)),
            (types, ["all_to_all_single: output is f16[2] where input is f64[2]"], dist.all_to_all_single, pl.zeros(size, dtype="f16"),
             pl.zeros(size, dtype="f64")),
            (shapes, [f"all_to_all_single: part {rank}"], dist.all_to_all_single, pl.ones(4), pl.ones(4), [1, 3], [3, 1]),
            (types, ["all_reduce_coalesced: tensors[1] is f32[2] where tensors[0] is i64[2]"], dist.all_reduce_coalesced, [i, x]),
            (pl.errors.ValueError, ["all_reduce_coalesced: tensors is empty"], dist.all_reduce_coalesced, []),
            (types, ["all_gather_coalesced: input_tensor_list[1] is i64[2] where input_tensor_list[0] is f32[2]"], dist.all_gather_coalesced,
             [[x, i]] * size, [x, i]),
            (shapes, ["all_gather_coalesced: output_tensor_lists[1][0] is f32[3]"], dist.all_gather_coalesced, [[x], [small]], [x])):
        expect_error(error, parts, function, *arguments)
    roots = ((types, ["gather: gather_list[1] is i64[2] where tensor is f32[2]"], dist.gather, x, several(x, i)),
             (shapes, ["gather: gather_list[0] is f32[3] where tensor is f32[2]"], dist.gather, x, several(small)),
             (types, ["scatter: scatter_list[1] is i64[2] where tensor is f32[2]"], dist.scatter, x, several(x, i)),
             (shapes, ["scatter: scatter_list[1] is f32[3] where tensor is f32[2]"], dist.scatter, x, several(x, small)),
             (types, ["scatter: scatter_list is <generator"], dist.scatter, x, (x for _ in range(size))))
    for error, parts, function, *arguments in roots if rank == 0 else ():
        expect_error(error, parts, function, *arguments, 0)
    outputs = [[pl.zeros(2), pl.zeros(1, 2)] for _ in range(size)]
    dist.all_gather_coalesced(outputs, [pl.full((2,), 1.0 + rank), pl.full((1, 2), 10.0 + rank)])
    assert [[each.tolist() for each in some] for some in outputs] == [[[1.0 + other] * 2, [[10.0 + other] * 2]] for other in range(size)]
    expect_error(types, ["all_to_all", "outside of jit, grad and vmap"], pl.jit(lambda x: dist.all_to_all(several(x), several(x))), x)


class Types(unittest.TestCase):
    def test_two_types(self):
        ranks.run(self, os.path.abspath(__file__), "two_types", 2)


class Alone(unittest.TestCase):
    def setUp(self):
        alone()
        self.addCleanup(lambda: dist.is_initialized() and dist.destroy_process_group())

    def refused(self, said, call, *arguments, kind=pl.errors.ValueError, **options):
        expect_error(kind, [said], call, *arguments, **options)

    def test_ranks(self):
        x = pl.ones(2)
        for call in (dist.recv, dist.irecv, dist.broadcast):
            self.refused(f"{call.__name__}: group_src is -1, expected 0 to 0", call, x, group_src=-1)
            self.refused("both src and group_src are given", call, x, src=0, group_src=0)
            self.refused("group_src is '0', expected an integer", call, x, group_src="0", kind=pl.errors.TypeError)
        self.refused("broadcast: src is missing", dist.broadcast, x)
        self.refused("isend: tag is '1', expected an integer", dist.isend, x, 0, tag="1", kind=pl.errors.TypeError)
        self.refused("isend: tag is -1, expected 0 or more", dist.isend, x, 0, tag=-1)
        dist.broadcast(x, np.int64(0))

    def test_groups(self):
        self.refused("use_local_synchronization is 1, expected", dist.new_group, use_local_synchronization=1, kind=pl.errors.TypeError)
        self.assertEqual(dist.get_world_size(dist.new_group(use_local_synchronization=True)), 1)
        self.assertEqual(dist.get_backend(dist.new_group(backend="gloo")), "gloo")
        self.refused("pg_options is 3, expected None", dist.new_group, pg_options=3)
        self.refused("ranks[1] is 0, which is named before", dist.new_group, [0, 0])
        self.refused("ranks[0] is '0', expected an integer", dist.new_group, ["0"], kind=pl.errors.TypeError)
        self.refused("rank 0 is in split_ranks[0] and split_ranks[1]", dist.split_group, None, [[0], [0]])
        for backend in ("local", "LOCAL", "cpu:local", "auto", dist.Backend.LOCAL):
            self.assertEqual(dist.get_world_size(dist.new_group(backend=backend, group_desc="x", pg_options=None, device_id=None)), 1)
        self.assertEqual((dist.Backend("GLOO"), dist.Backend.NCCL, dist.Backend("Own")), ("gloo", "nccl", "own"))
        self.assertTrue(dist.is_backend_available("local"))
        self.assertEqual(dist.is_nccl_available(), bool(pl.devices("cuda")))
        dist.destroy_process_group()
        for backend, said in (("pigeon", "expected one of auto, local"), ("cpu:gloo,cuda:nccl", "expected one name"),
                              ("cuda:gloo", "expected one name")):
            self.refused(said, dist.init_process_group, backend, store=dist.HashStore(), rank=0, world_size=1)

    def test_stores(self):
        store = dist.HashStore()
        for value in (5, 1.5, None):
            self.refused("Store.set: value is", store.set, "k", value, kind=pl.errors.TypeError)
        store.set("k", bytearray(b"x"))
        store.set("l", memoryview(b"y"))
        self.assertEqual(store.multi_get(["k", "l"]), [b"x", b"y"])
        self.refused("Store.wait: keys is 'ab', expected a list of str", store.wait, "ab", kind=pl.errors.TypeError)
        self.refused("Store.multi_set: keys is 'ab'", store.multi_set, "ab", ["1", "2"], kind=pl.errors.TypeError)
        self.refused("TCPStore: world_size is -3, expected 1 or more", dist.TCPStore, "localhost", 0, -3, True)

    def test_messages(self):
        x = pl.ones(2)
        self.refused("batch_isend_irecv: p2p_op_list is [1], expected a list of P2POp", dist.batch_isend_irecv, [1])
        other = dist.new_group()
        self.refused("of another group", dist.batch_isend_irecv, [dist.P2POp(dist.irecv, x), dist.P2POp(dist.irecv, x, group=other)])
        for call in (dist.send, dist.isend, dist.recv, dist.irecv):
            self.refused(f"{call.__name__}: {'src' if 'recv' in call.__name__ else 'dst'} is this rank, expected another one", call, x, 0)
        self.refused("P2POp: peer is 3: rank 3 is not in the group", dist.P2POp, dist.isend, x, 3)

    def test_lists_of_objects(self):
        for call, *arguments in ((dist.scatter_object_list, [], [1]), (dist.gather_object, 1, [])):
            self.refused(f"{call.__name__}: ", call, *arguments)
        self.refused("all_gather_object: object_list is (None,), expected a list", dist.all_gather_object, (None,), 1, kind=pl.errors.TypeError)

    def test_timeouts(self):
        for timeout in (np.float32(2), np.int64(2), 1e300, float("inf"), datetime.timedelta(seconds=1)):
            dist.barrier(timeout=timeout)
        with contextlib.suppress(OverflowError):
            self.refused("the timeout is nan s", dist.barrier, timeout=float("nan"))


if __name__ == "__main__":
    ranks.main(globals())
