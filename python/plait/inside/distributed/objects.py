"""Calls that pass objects: numbers, text, bytes, tensors, arrays, and lists, tuples, sets and dicts of them (encoding.py)."""

from plait import _core, errors
from plait.inside.distributed import calls, process_groups as groups
from plait.inside.distributed.encoding import decode, encode
from plait.inside.arrays.interop import asarray
from plait.inside.later import Later

np = Later("numpy")


def _bytes_of(function, value):
    return asarray(np.frombuffer(bytearray(encode(function, value)), np.uint8))


def _value_of(tensor):
    return decode(tensor.numpy().tobytes())


def _sizes(own, size):
    """The sizes that all ranks pass."""
    everyone = _core.zeros((own.size(),), dtype="i64")
    calls.all_gather_into_tensor(everyone, asarray(np.array([size])), own)
    return everyone.tolist()


def _parts(own, data):
    """The bytes of all ranks."""
    sizes = _sizes(own, data.shape[0])
    outputs = [_core.zeros((size,), dtype="u8") for size in sizes]
    calls.all_gather(outputs, data, own)
    return outputs


def all_gather_object(object_list, obj, group=None):
    """Sets the items of the list, one for each rank, to the objects of the ranks."""
    own = groups.the_group("all_gather_object", group)
    if len(object_list) != own.size():
        raise errors.ValueError(f"all_gather_object: object_list has {len(object_list)} items, expected {own.size()}, one for each rank")
    object_list[:] = [_value_of(part) for part in _parts(own, _bytes_of("all_gather_object", obj))]


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Sets the items of the list, which rank dst alone has, to the objects of the ranks."""
    own = groups.the_group("gather_object", group)
    root = calls._root("gather_object", own, 0 if dst is None else dst, group_dst)
    is_root = root == own.rank()
    if is_root != (object_gather_list is not None):
        raise errors.ValueError(f"gather_object: object_gather_list is {'missing' if is_root else 'given'} on rank {own.rank()}; rank {root} gathers")
    received = _parts(own, _bytes_of("gather_object", obj))
    if is_root:
        object_gather_list[:] = [_value_of(each) for each in received]


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Sets the items of the list to those of rank src."""
    own = groups.the_group("broadcast_object_list", group)
    root = calls._root("broadcast_object_list", own, 0 if src is None else src, group_src)
    is_root = root == own.rank()
    data = _bytes_of("broadcast_object_list", list(object_list) if is_root else None)
    size = _sizes(own, data.shape[0])[root]
    data = data if is_root else _core.zeros((size,), dtype="u8")
    calls.broadcast(data, group=own, group_src=root)
    if is_root:
        return
    values = _value_of(data)
    if len(values) != len(object_list):
        raise errors.ValueError(f"broadcast_object_list: object_list has {len(object_list)} items, that of rank {root} {len(values)}")
    object_list[:] = values


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Sets the first item of the output list to the object of rank src for this rank."""
    own = groups.the_group("scatter_object_list", group)
    root = calls._root("scatter_object_list", own, 0 if src is None else src, group_src)
    given = list(scatter_object_input_list) if root == own.rank() and scatter_object_input_list is not None else []
    if root == own.rank() and len(given) != own.size():
        raise errors.ValueError(f"scatter_object_list: {len(given)} objects, expected {own.size()}, one for each rank")
    passed = given or [None] * own.size()
    broadcast_object_list(passed, group=own, group_src=root)
    scatter_object_output_list[0] = passed[own.rank()]


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Sends the items of the list to rank dst."""
    data = _bytes_of("send_object_list", list(object_list))
    calls.send(asarray(np.array([data.shape[0]])), dst, group, group_dst=group_dst)
    calls.send(data, dst, group, group_dst=group_dst)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Sets the items of the list to those that rank src sends, or any rank. Returns the rank of the sender."""
    own, size = groups.the_group("recv_object_list", group), _core.zeros((1,), dtype="i64")
    sender = calls.recv(size, src, group, group_src=group_src)
    data = _core.zeros((int(size[0]),), dtype="u8")
    calls.recv(data, group=own, group_src=own._ranks.index(sender))
    values = _value_of(data)
    if len(values) != len(object_list):
        raise errors.ValueError(f"recv_object_list: object_list has {len(object_list)} items, {len(values)} were sent")
    object_list[:] = values
    return sender
