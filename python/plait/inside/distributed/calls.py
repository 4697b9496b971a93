"""Calls that the ranks of a group make together, and messages between two. They change tensors in place, as PyTorch's do."""

import math

from plait import _core, errors
from plait.inside.distributed import process_groups as groups
from plait.inside.distributed.stores import seconds_of
from plait.inside.distributed.works import Work
from plait.inside.help.names import in_words

_comm = _core._comm


class ReduceOp:
    """Reductions: SUM, AVG (of floating and complex numbers), PRODUCT, MIN, MAX, BAND, BOR, BXOR."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "sum", "average", "product", "min", "max", "band", "bor", "bxor"


def _tensor(function, what, tensor):
    if not isinstance(tensor, _core.Tensor):
        raise errors.TypeError(f"{function}: {what} is {in_words(tensor)}, expected a Tensor")
    return tensor


def _tensors(function, what, tensors, count=None):
    if not isinstance(tensors, (list, tuple)):
        raise errors.TypeError(f"{function}: {what} is {in_words(tensors)}, expected a list of tensors")
    if count is not None and len(tensors) != count:
        raise errors.ValueError(f"{function}: {what} has {len(tensors)} tensors, expected {count}, one for each rank")
    return [_tensor(function, f"{what}[{i}]", tensor) for i, tensor in enumerate(tensors)]


def _put(tensor, value):
    tensor[...] = value.reshape(tensor.shape)


def _put_rows(tensors):
    def deliver(results):
        for tensor, row in zip(tensors, results[0], strict=True):
            _put(tensor, row)

    return deliver


def _put_parts(tensors):
    """Delivers a tensor of one dimension, part after part."""

    def deliver(results):
        begin = 0
        for tensor in tensors:
            count = math.prod(tensor.shape)
            _put(tensor, results[0][begin:begin + count])
            begin += count

    return deliver


def _flat(tensors):
    return _core.concat([tensor.reshape(-1) for tensor in tensors])


def _ended(result, async_op, deliver=None):
    """A Work if the call goes on; else None, after its result was delivered."""
    if async_op:
        return Work(result, deliver)
    if deliver is not None:
        deliver([result])
    return None


def _are_alike(tensors):
    return all(tuple(each.shape) == tuple(tensors[0].shape) for each in tensors)


def _root(function, group, rank, group_rank):
    """A root that is given as rank of all processes, or of the group."""
    if group_rank is not None:
        return group_rank
    if rank not in group._ranks:
        raise errors.ValueError(f"{function}: rank {rank} is not in the group, whose ranks are {group._ranks}")
    return group._ranks.index(rank)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Returns when all ranks have called it."""
    own = groups.the_group("barrier", group)
    return _ended(_comm.barrier(own._inner, seconds_of("barrier", timeout), async_op), async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """A barrier; its error names the ranks that are late, as that of each call does."""
    return barrier(group, timeout=timeout)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None, timeout=None):
    """Gives the tensor the values of that of rank src."""
    own = groups.the_group("broadcast", group)
    root = _root("broadcast", own, src, group_src)
    result = _comm.broadcast(_tensor("broadcast", "tensor", tensor), root, own._inner, seconds_of("broadcast", timeout), async_op)
    return _ended(result, async_op, None if root == own.rank() else lambda results: _put(tensor, results[0]))


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor the reduction of those of all ranks, which are added in the order of the ranks."""
    own = groups.the_group("all_reduce", group)
    result = _comm.all_reduce(_tensor("all_reduce", "tensor", tensor), op, own._inner, seconds_of("all_reduce", timeout), async_op)
    return _ended(result, async_op, lambda results: _put(tensor, results[0]))


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """all_reduce of several tensors of one dtype, in one call."""
    own = groups.the_group("all_reduce_coalesced", group)
    tensors = _tensors("all_reduce_coalesced", "tensors", tensors)
    result = _comm.all_reduce(_flat(tensors), op, own._inner, seconds_of("all_reduce_coalesced", timeout), async_op)
    return _ended(result, async_op, _put_parts(tensors))


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None, timeout=None):
    """Gives the tensor of rank dst the reduction of those of all ranks."""
    own = groups.the_group("reduce", group)
    root = _root("reduce", own, dst, group_dst)
    result = _comm.reduce(_tensor("reduce", "tensor", tensor), root, op, own._inner, seconds_of("reduce", timeout), async_op)
    return _ended(result, async_op, (lambda results: _put(tensor, results[0])) if root == own.rank() else None)


def all_gather(tensor_list, tensor, group=None, async_op=False, timeout=None):
    """Gives the tensors of the list, one for each rank, the values of those of the ranks. They may have different sizes."""
    own, seconds = groups.the_group("all_gather", group), seconds_of("all_gather", timeout)
    tensors = _tensors("all_gather", "tensor_list", tensor_list, own.size())
    _tensor("all_gather", "tensor", tensor)
    if _are_alike(tensors) and tuple(tensor.shape) == tuple(tensors[0].shape):
        return _ended(_comm.all_gather(tensor, own._inner, seconds, async_op), async_op, _put_rows(tensors))
    counts = [math.prod(each.shape) for each in tensors]
    return _ended(_comm.all_gather_parts(tensor.reshape(-1), counts, own._inner, seconds, async_op), async_op, _put_parts(tensors))


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False, timeout=None):
    """Gives one tensor the values of all ranks' tensors, stacked or concatenated along the first dimension."""
    own = groups.the_group("all_gather_into_tensor", group)
    _tensor("all_gather_into_tensor", "output_tensor", output_tensor)
    given = _tensor("all_gather_into_tensor", "input_tensor", input_tensor)
    if math.prod(output_tensor.shape) != own.size() * math.prod(given.shape):
        raise errors.ShapeError(f"all_gather_into_tensor: output_tensor is {tuple(output_tensor.shape)} for {own.size()} of {tuple(given.shape)}")
    result = _comm.all_gather(given, own._inner, seconds_of("all_gather_into_tensor", timeout), async_op)
    return _ended(result, async_op, lambda results: _put(output_tensor, results[0]))


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None, timeout=None):
    """Gives the tensors of the list, which rank dst alone has, the values of those of the ranks."""
    own = groups.the_group("gather", group)
    root = _root("gather", own, 0 if dst is None else dst, group_dst)
    is_root = root == own.rank()
    if is_root != (gather_list is not None and len(gather_list) > 0):
        raise errors.ValueError(f"gather: gather_list is {'missing' if is_root else 'given'} on rank {own.rank()}; rank {root} gathers")
    tensors = _tensors("gather", "gather_list", gather_list, own.size()) if is_root else []
    result = _comm.gather(_tensor("gather", "tensor", tensor), root, own._inner, seconds_of("gather", timeout), async_op)
    return _ended(result, async_op, _put_rows(tensors) if is_root else None)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None, timeout=None):
    """Gives the tensor of rank i the values of tensor i of the list, which rank src alone has."""
    own = groups.the_group("scatter", group)
    root = _root("scatter", own, 0 if src is None else src, group_src)
    is_root = root == own.rank()
    if is_root != (scatter_list is not None and len(scatter_list) > 0):
        raise errors.ValueError(f"scatter: scatter_list is {'missing' if is_root else 'given'} on rank {own.rank()}; rank {root} scatters")
    rows = _core.stack(_tensors("scatter", "scatter_list", scatter_list, own.size())) if is_root else None
    result = _comm.scatter(rows, _tensor("scatter", "tensor", tensor), root, own._inner, seconds_of("scatter", timeout), async_op)
    return _ended(result, async_op, lambda results: _put(tensor, results[0]))


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor of rank i the reduction of tensors i of all ranks' lists. They may have different sizes."""
    own, seconds = groups.the_group("reduce_scatter", group), seconds_of("reduce_scatter", timeout)
    tensors = _tensors("reduce_scatter", "input_list", input_list, own.size())
    _tensor("reduce_scatter", "output", output)
    if _are_alike(tensors):
        result = _comm.reduce_scatter(_core.stack(tensors), op, own._inner, seconds, async_op)
    else:
        counts = [math.prod(each.shape) for each in tensors]
        result = _comm.reduce_scatter_parts(_flat(tensors), counts, op, own._inner, seconds, async_op)
    return _ended(result, async_op, lambda results: _put(output, results[0]))


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False, timeout=None):
    """Gives the tensor of rank i part i of the reduction of all ranks' tensors, which is divided along its first dimension."""
    own = groups.the_group("reduce_scatter_tensor", group)
    _tensor("reduce_scatter_tensor", "output", output)
    given = _tensor("reduce_scatter_tensor", "input", input)
    if math.prod(given.shape) != own.size() * math.prod(output.shape):
        raise errors.ShapeError(f"reduce_scatter_tensor: input is {tuple(given.shape)} for {own.size()} of {tuple(output.shape)}")
    rows = given.reshape(own.size(), *output.shape)
    result = _comm.reduce_scatter(rows, op, own._inner, seconds_of("reduce_scatter_tensor", timeout), async_op)
    return _ended(result, async_op, lambda results: _put(output, results[0]))


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False, timeout=None):
    """Gives tensor i of the output list the values of the input of rank i for this rank. They may have different sizes."""
    own, seconds = groups.the_group("all_to_all", group), seconds_of("all_to_all", timeout)
    outputs = _tensors("all_to_all", "output_tensor_list", output_tensor_list, own.size())
    inputs = _tensors("all_to_all", "input_tensor_list", input_tensor_list, own.size())
    sent, received = [math.prod(each.shape) for each in inputs], [math.prod(each.shape) for each in outputs]
    result = _comm.all_to_all_parts(_flat(inputs), sent, received, own._inner, seconds, async_op)
    return _ended(result, async_op, _put_parts(outputs))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False, timeout=None):
    """The same with parts of one tensor, along its first dimension: equal ones, or as many rows as the split sizes say."""
    own, seconds = groups.the_group("all_to_all_single", group), seconds_of("all_to_all_single", timeout)
    sent = _split(own, "input", input, input_split_sizes)
    received = _split(own, "output", output, output_split_sizes)
    result = _comm.all_to_all_parts(input.reshape(-1), sent, received, own._inner, seconds, async_op)
    return _ended(result, async_op, lambda results: _put(output, results[0]))


def _split(group, what, tensor, rows):
    """Elements of the parts of a tensor."""
    shape = _tensor("all_to_all_single", what, tensor).shape
    if len(shape) == 0:
        raise errors.ShapeError(f"all_to_all_single: {what} has no dimensions")
    size = group.size()
    if not rows:
        if shape[0] % size != 0:
            raise errors.ShapeError(f"all_to_all_single: the {shape[0]} rows of {what} cannot be divided among {size} ranks")
        rows = [shape[0] // size] * size
    if len(rows) != size or sum(rows) != shape[0]:
        raise errors.ValueError(f"all_to_all_single: {what}_split_sizes is {list(rows)}, expected {size} sizes whose sum is {shape[0]}")
    return [count * math.prod(shape[1:]) for count in rows]


def isend(tensor, dst=None, group=None, tag=0, group_dst=None, timeout=None):
    """Begins to send the tensor to rank dst, and returns a Work."""
    own = groups.the_group("isend", group)
    rank = _root("isend", own, dst, group_dst)
    return Work(_comm.send(_tensor("isend", "tensor", tensor), rank, own._inner, tag, seconds_of("isend", timeout), True))


def send(tensor, dst=None, group=None, tag=0, group_dst=None, timeout=None):
    """Sends the tensor to rank dst, which receives it by recv with the same tag."""
    own = groups.the_group("send", group)
    rank = _root("send", own, dst, group_dst)
    _comm.send(_tensor("send", "tensor", tensor), rank, own._inner, tag, seconds_of("send", timeout), False)


def irecv(tensor, src=None, group=None, tag=0, group_src=None, timeout=None):
    """Begins to receive the tensor from rank src, or any rank, and returns a Work."""
    own = groups.the_group("irecv", group)
    rank = -1 if src is None and group_src is None else _root("irecv", own, src, group_src)
    inner = _comm.recv(_tensor("irecv", "tensor", tensor), rank, own._inner, tag, seconds_of("irecv", timeout), True)
    return Work(inner, lambda results: _put(tensor, results[0]))


def recv(tensor, src=None, group=None, tag=0, group_src=None, timeout=None):
    """Gives the tensor the values that rank src sends, or any rank, with the same tag. Returns the rank of the sender."""
    own = groups.the_group("recv", group)
    rank = -1 if src is None and group_src is None else _root("recv", own, src, group_src)
    result, source = _comm.recv(_tensor("recv", "tensor", tensor), rank, own._inner, tag, seconds_of("recv", timeout), False)
    _put(tensor, result)
    return own._ranks[source]


class P2POp:
    """One of the messages of batch_isend_irecv: isend or irecv, its tensor, and the other rank."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        op = getattr(op, "__wrapped__", op)  # the function of users is a boundary around it
        if op not in (isend, irecv):
            raise errors.ValueError(f"P2POp: op is {in_words(op)}, expected plait.distributed.isend or irecv")
        self.op, self.tensor, self.peer, self.group, self.tag, self.group_peer = op, tensor, peer, group, tag, group_peer


def batch_isend_irecv(p2p_op_list):
    """Begins several messages, and returns their Works."""
    return [each.op(each.tensor, each.peer, each.group, each.tag, each.group_peer) for each in p2p_op_list]
