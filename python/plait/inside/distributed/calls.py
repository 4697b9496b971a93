"""Calls that the ranks of a group make together. They change tensors in place, as PyTorch's do."""

import math

from plait import _core, errors
from plait.inside.distributed import process_groups as groups
from plait.inside.distributed.arguments import (
    expect_alike, expect_same_dtype, expect_same_type, flag_of, integers_of, seconds_of, shown, tensor_of, tensors_of, written_of)
from plait.inside.distributed.works import Work
from plait.inside.help.names import in_words

_comm = _core._comm


_NAMES = {"SUM": "sum", "AVG": "average", "PRODUCT": "product", "MIN": "min", "MAX": "max", "BAND": "band", "BOR": "bor", "BXOR": "bxor"}
_REDUCTIONS = {value: name for name, value in _NAMES.items()}


class ReduceOp(str):
    """Reductions: SUM, AVG (of floating and complex numbers), PRODUCT, MIN, MAX, BAND, BOR, BXOR; premul_sum(factor) makes one more.

    >>> op = plait.distributed.ReduceOp
    >>> isinstance(op.SUM, op), op(op.SUM) == op.SUM
    (True, True)
    """

    def __new__(cls, op):
        return op if isinstance(op, ScaledSum) else super().__new__(cls, _reduction("ReduceOp", op)[0])

    @staticmethod
    def PREMUL_SUM(factor):
        """The same as premul_sum."""
        return premul_sum(factor)


class ScaledSum(ReduceOp):
    """The sum of what each rank multiplies by a factor of its own before."""

    def __new__(cls, factor):
        if isinstance(factor, _core.Tensor):
            factor = factor.item()
        if isinstance(factor, bool) or not isinstance(factor, (int, float)):
            raise errors.TypeError(f"premul_sum: factor is {in_words(factor)}, expected a number")
        made = str.__new__(cls, "sum")
        made.factor = float(factor)
        return made

    def __getnewargs__(self):
        return (self.factor,)

    def __eq__(self, other):
        return isinstance(other, ScaledSum) and self.factor == other.factor

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(("premul_sum", self.factor))

    def __repr__(self):
        return f"premul_sum({self.factor})"


def premul_sum(factor):
    """A reduction: the sum of the operands, of floating or complex numbers, that each rank multiplies by its factor before.

    >>> plait.distributed.premul_sum(0.5).factor
    0.5
    """
    return ScaledSum(factor)


_make_nccl_premul_sum = premul_sum  # PyTorch's name


# ---- Arguments.


def _begun(function, group, async_op, timeout):
    """(the group, the seconds) of a call; (None, …) where this process is not in the group."""
    flag_of(function, "async_op", async_op)
    return groups.of_member(function, group), seconds_of(function, timeout)


def _reduction(function, op):
    """(its name, the factor of the operand)."""
    if isinstance(op, ScaledSum):
        return "sum", op.factor
    expected = f"expected a ReduceOp: {', '.join(_REDUCTIONS.values())}"
    if not isinstance(op, str):
        raise errors.TypeError(f"{function}: op is {in_words(op)}, {expected}")
    if op not in _REDUCTIONS:
        raise errors.ValueError(f"{function}: op is {in_words(op)}, which is not a reduction, {expected}")
    return str(op), 1.0


for _name, _value in _NAMES.items():
    setattr(ReduceOp, _name, ReduceOp(_value))


def _list_of_root(function, what, tensors, own, root, verb):
    """The tensors of a list that the root alone has: [] on other ranks."""
    is_root, is_given = root == own.rank(), tensors is not None and not (isinstance(tensors, (list, tuple)) and len(tensors) == 0)
    if is_root != is_given:
        raise errors.ValueError(f"{function}: {what} is {'missing' if is_root else 'given'} on rank {own.rank()}; rank {root} {verb}")
    return tensors_of(function, what, tensors, own.size()) if is_root else []


# ---- Results.


def put(tensor, value):
    """Gives a tensor the values of another one."""
    tensor[...] = value.reshape(tensor.shape)


def _put_rows(tensors):
    def deliver(results):
        for tensor, row in zip(tensors, results[0], strict=True):
            put(tensor, row)

    return deliver


def _put_parts(tensors):
    """Delivers a tensor, part after part."""

    def deliver(results):
        begin, values = 0, results[0].reshape(-1)
        for tensor in tensors:
            count = math.prod(tensor.shape)
            put(tensor, values[begin:begin + count])
            begin += count

    return deliver


def _ended(own, result, async_op, deliver=None):
    """A Work if the call goes on; else None, after its result was delivered."""
    if async_op:
        return Work(result, deliver, own._pending)
    if deliver is not None:
        deliver([result])
    return None


def _flat(tensors):
    return _core.concat([tensor.reshape(-1) for tensor in tensors])


def _counts(tensors):
    return [math.prod(each.shape) for each in tensors]


def _are_alike(tensors):
    return all(tuple(each.shape) == tuple(tensors[0].shape) for each in tensors)


# ---- All ranks wait.


def _barrier(function, group, async_op, timeout):
    own, seconds = _begun(function, group, async_op, timeout)
    if own is None:
        return None
    result = _comm.barrier(own._inner, seconds, async_op)
    if async_op:
        return Work(result, lambda results: own._pending.deliver())
    own._pending.deliver()
    return None


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Returns when all ranks have called it. Calls of the group that were begun before are over then, and their tensors have their values. Ranks
    wait on the host, whatever device_ids names."""
    if device_ids is not None:
        integers_of("barrier", "device_ids", device_ids, 0, 2**31 - 1, "devices")
    return _barrier("barrier", group, async_op, timeout)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """A barrier; its error names the ranks that are late, as that of each call does."""
    flag_of("monitored_barrier", "wait_all_ranks", wait_all_ranks)
    return _barrier("monitored_barrier", group, False, timeout)


# ---- One tensor of each rank.


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None, timeout=None):
    """Gives the tensor the values of that of rank src."""
    own, seconds = _begun("broadcast", group, async_op, timeout)
    if own is None:
        return None
    root = groups.place_of("broadcast", own, "src", src, group_src)
    given = tensor_of("broadcast", "tensor", tensor) if root == own.rank() else written_of("broadcast", "tensor", tensor)
    result = _comm.broadcast(given, root, own._inner, seconds, async_op)
    return _ended(own, result, async_op, None if root == own.rank() else lambda results: put(tensor, results[0]))


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor the reduction of those of all ranks, which are added in the order of the ranks."""
    own, seconds = _begun("all_reduce", group, async_op, timeout)
    if own is None:
        return None
    result = _comm.all_reduce(written_of("all_reduce", "tensor", tensor), _reduction("all_reduce", op), own._inner, seconds, async_op)
    return _ended(own, result, async_op, lambda results: put(tensor, results[0]))


def _coalesced(function, what, tensors):
    """Tensors of one dtype, which pass as one."""
    tensors = tensors_of(function, what, tensors)
    if not tensors:
        raise errors.ValueError(f"{function}: {what} is empty, expected tensors")
    for i, tensor in enumerate(tensors):
        expect_same_dtype(function, f"{what}[{i}]", tensor, f"{what}[0]", tensors[0])
    return tensors


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """all_reduce of several tensors of one dtype, in one call."""
    own, seconds = _begun("all_reduce_coalesced", group, async_op, timeout)
    if own is None:
        return None
    tensors = _coalesced("all_reduce_coalesced", "tensors", [tensors] if isinstance(tensors, _core.Tensor) else tensors)
    result = _comm.all_reduce(_flat(tensors), _reduction("all_reduce_coalesced", op), own._inner, seconds, async_op)
    return _ended(own, result, async_op, _put_parts(tensors))


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None, timeout=None):
    """Gives the tensor of rank dst the reduction of those of all ranks."""
    own, seconds = _begun("reduce", group, async_op, timeout)
    if own is None:
        return None
    root = groups.place_of("reduce", own, "dst", dst, group_dst)
    result = _comm.reduce(tensor_of("reduce", "tensor", tensor), root, _reduction("reduce", op), own._inner, seconds, async_op)
    return _ended(own, result, async_op, (lambda results: put(tensor, results[0])) if root == own.rank() else None)


# ---- Lists, with a tensor for each rank.


def all_gather(tensor_list, tensor, group=None, async_op=False, timeout=None):
    """Gives the tensors of the list, one for each rank, the values of those of the ranks. They may have different sizes."""
    own, seconds = _begun("all_gather", group, async_op, timeout)
    if own is None:
        return None
    tensors = tensors_of("all_gather", "tensor_list", tensor_list, own.size())
    expect_alike("all_gather", "tensor_list", tensors, "tensor", tensor_of("all_gather", "tensor", tensor), own.rank())
    if _are_alike(tensors):
        return _ended(own, _comm.all_gather(tensor, own._inner, seconds, async_op), async_op, _put_rows(tensors))
    result = _comm.all_gather_parts(tensor.reshape(-1), _counts(tensors), own._inner, seconds, async_op)
    return _ended(own, result, async_op, _put_parts(tensors))


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False, timeout=None):
    """all_gather of several tensors of one dtype, in one call: gives list i, of as many tensors, the values of those of rank i."""
    call = "all_gather_coalesced"
    own, seconds = _begun(call, group, async_op, timeout)
    if own is None:
        return None
    inputs = _coalesced(call, "input_tensor_list", input_tensor_list)
    if not isinstance(output_tensor_lists, (list, tuple)):
        raise errors.TypeError(f"{call}: output_tensor_lists is {in_words(output_tensor_lists)}, expected lists of tensors")
    if len(output_tensor_lists) != own.size():
        raise errors.ValueError(f"{call}: output_tensor_lists has {len(output_tensor_lists)} lists, expected {own.size()}, one for each rank")
    outputs = []
    for rank, given in enumerate(output_tensor_lists):
        what = f"output_tensor_lists[{rank}]"
        listed = tensors_of(call, what, given)
        if len(listed) != len(inputs):
            raise errors.ValueError(f"{call}: {what} has {len(listed)} tensors, expected {len(inputs)}, as input_tensor_list has")
        for i, (output, input) in enumerate(zip(listed, inputs, strict=True)):
            expect_same_type(call, f"{what}[{i}]", output, f"input_tensor_list[{i}]", input)
        outputs += listed
    return _ended(own, _comm.all_gather(_flat(inputs), own._inner, seconds, async_op), async_op, _put_parts(outputs))


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False, timeout=None):
    """Gives one tensor the values of all ranks' tensors, stacked or concatenated along the first dimension."""
    call = "all_gather_into_tensor"
    own, seconds = _begun(call, group, async_op, timeout)
    if own is None:
        return None
    output, given = written_of(call, "output_tensor", output_tensor), tensor_of(call, "input_tensor", input_tensor)
    expect_same_dtype(call, "output_tensor", output, "input_tensor", given)
    if math.prod(output.shape) != own.size() * math.prod(given.shape):
        raise errors.ShapeError(f"{call}: output_tensor is {shown(output)}, expected the size of {own.size()} times {shown(given)}, "
                                "one for each rank")
    return _ended(own, _comm.all_gather(given, own._inner, seconds, async_op), async_op, lambda results: put(output, results[0]))


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None, timeout=None):
    """Gives the tensors of the list, which rank dst alone has, the values of those of the ranks."""
    own, seconds = _begun("gather", group, async_op, timeout)
    if own is None:
        return None
    root = groups.place_of("gather", own, "dst", dst, group_dst, default=0)
    tensors = _list_of_root("gather", "gather_list", gather_list, own, root, "gathers")
    expect_alike("gather", "gather_list", tensors, "tensor", tensor_of("gather", "tensor", tensor))
    result = _comm.gather(tensor, root, own._inner, seconds, async_op)
    return _ended(own, result, async_op, _put_rows(tensors) if root == own.rank() else None)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None, timeout=None):
    """Gives the tensor of rank i the values of tensor i of the list, which rank src alone has."""
    own, seconds = _begun("scatter", group, async_op, timeout)
    if own is None:
        return None
    root = groups.place_of("scatter", own, "src", src, group_src, default=0)
    tensors = _list_of_root("scatter", "scatter_list", scatter_list, own, root, "scatters")
    expect_alike("scatter", "scatter_list", tensors, "tensor", written_of("scatter", "tensor", tensor))
    result = _comm.scatter(_core.stack(tensors) if tensors else None, tensor, root, own._inner, seconds, async_op)
    return _ended(own, result, async_op, lambda results: put(tensor, results[0]))


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor of rank i the reduction of tensors i of all ranks' lists. They may have different sizes."""
    own, seconds = _begun("reduce_scatter", group, async_op, timeout)
    if own is None:
        return None
    tensors, op = tensors_of("reduce_scatter", "input_list", input_list, own.size()), _reduction("reduce_scatter", op)
    expect_alike("reduce_scatter", "input_list", tensors, "output", written_of("reduce_scatter", "output", output), own.rank())
    if _are_alike(tensors):
        result = _comm.reduce_scatter(_core.stack(tensors), op, own._inner, seconds, async_op)
    else:
        result = _comm.reduce_scatter_parts(_flat(tensors), _counts(tensors), op, own._inner, seconds, async_op)
    return _ended(own, result, async_op, lambda results: put(output, results[0]))


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor of rank i part i of the reduction of all ranks' tensors, which is divided along its first dimension."""
    call = "reduce_scatter_tensor"
    own, seconds = _begun(call, group, async_op, timeout)
    if own is None:
        return None
    given, op = tensor_of(call, "input", input), _reduction(call, op)
    expect_same_dtype(call, "output", written_of(call, "output", output), "input", given)
    if math.prod(given.shape) != own.size() * math.prod(output.shape):
        raise errors.ShapeError(f"{call}: input is {shown(given)}, expected the size of {own.size()} times {shown(output)}, one for each rank")
    result = _comm.reduce_scatter(given.reshape(own.size(), *output.shape), op, own._inner, seconds, async_op)
    return _ended(own, result, async_op, lambda results: put(output, results[0]))


# ---- Each rank has something for each other one.


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False, timeout=None):
    """Gives tensor i of the output list the values of the input of rank i for this rank. They may have different sizes."""
    own, seconds = _begun("all_to_all", group, async_op, timeout)
    if own is None:
        return None
    outputs = tensors_of("all_to_all", "output_tensor_list", output_tensor_list, own.size())
    inputs, rank = tensors_of("all_to_all", "input_tensor_list", input_tensor_list, own.size()), own.rank()
    own_input, its_name = inputs[rank], f"input_tensor_list[{rank}]"
    expect_alike("all_to_all", "input_tensor_list", inputs, its_name, own_input, rank)
    expect_alike("all_to_all", "output_tensor_list", outputs, its_name, own_input, rank)
    result = _comm.all_to_all_parts(_flat(inputs), _counts(inputs), _counts(outputs), own._inner, seconds, async_op)
    return _ended(own, result, async_op, _put_parts(outputs))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False, timeout=None):
    """The same with parts of one tensor, along its first dimension: equal ones, or as many rows as the split sizes say."""
    own, seconds = _begun("all_to_all_single", group, async_op, timeout)
    if own is None:
        return None
    sent = _split(own, "input", input, input_split_sizes)
    received = _split(own, "output", written_of("all_to_all_single", "output", output), output_split_sizes)
    expect_same_dtype("all_to_all_single", "output", output, "input", input)
    rank = own.rank()
    if sent[rank] != received[rank]:
        raise errors.ShapeError(f"all_to_all_single: part {rank} of output {shown(output)} has {received[rank]} elements, and of input "
                                f"{shown(input)} {sent[rank]}, expected as many, as rank {rank} sends them to itself")
    result = _comm.all_to_all_parts(input.reshape(-1), sent, received, own._inner, seconds, async_op)
    return _ended(own, result, async_op, lambda results: put(output, results[0]))


def _split(group, what, tensor, rows):
    """Elements of the parts of a tensor."""
    call, size = "all_to_all_single", group.size()
    shape = tensor_of(call, what, tensor).shape
    if len(shape) == 0:
        raise errors.ShapeError(f"{call}: {what} has no dimensions, expected rows that are divided among the ranks")
    sizes = None if rows is None else integers_of(call, f"{what}_split_sizes", rows, 0, 2**63 - 1, "sizes")
    if not sizes:
        if shape[0] % size != 0:
            raise errors.ShapeError.with_hint(f"{call}: the {shape[0]} rows of {what} cannot be divided among {size} ranks",
                                              f"{what}_split_sizes says how many rows each rank has")
        sizes = [shape[0] // size] * size
    if len(sizes) != size or sum(sizes) != shape[0]:
        raise errors.ValueError(f"{call}: {what}_split_sizes is {sizes}, expected {size} sizes whose sum is {shape[0]}")
    return [count * math.prod(shape[1:]) for count in sizes]
