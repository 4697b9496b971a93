"""Calls that pass objects: numbers, text, bytes, tensors, arrays, and lists, tuples, sets and dicts of them (encoding.py)."""

from plait import _core, errors
from plait.inside.arrays.devices import Device, moved
from plait.inside.arrays.interop import asarray
from plait.inside.distributed import calls, messages, process_groups as groups
from plait.inside.distributed.arguments import list_of
from plait.inside.distributed.encoding import decode, encode
from plait.inside.help.names import in_words
from plait.inside.later import Later

np = Later("numpy")


def _placed(own, array):
    """A tensor where the group has its tensors."""
    return moved(asarray(array), own._inner.device())


def _bytes_of(function, own, value):
    return _placed(own, np.frombuffer(bytearray(encode(function, value)), np.uint8))


def _value_of(function, tensor):
    try:
        return decode(moved(tensor, "cpu").numpy().tobytes())
    except errors.ParseError as error:
        raise errors.ParseError(f"{function}: what was received is not an object: {error.message}") from None


def _sizes(own, size):
    """The sizes that all ranks pass."""
    everyone = _core.zeros((own.size(),), dtype="i64")
    calls.all_gather_into_tensor(everyone, _placed(own, np.array([size])), own)
    return everyone.tolist()


def _parts(own, data):
    """The bytes of all ranks."""
    sizes = _sizes(own, data.shape[0])
    outputs = [_core.zeros((size,), dtype="u8") for size in sizes]
    calls.all_gather(outputs, data, own)
    return outputs


def _sent(function, what, objects):
    if not isinstance(objects, (list, tuple)):
        raise errors.TypeError(f"{function}: {what} is {in_words(objects)}, expected a list")
    return list(objects)


def _expect_device(function, device):
    """Objects pass through the host, on whatever device: PyTorch's argument is checked only."""
    if device is not None and not isinstance(device, (str, Device)):
        raise errors.TypeError(f"{function}: device is {in_words(device)}, expected a device or None")


def all_gather_object(object_list, obj, group=None):
    """Sets the items of the list, one for each rank, to the objects of the ranks."""
    call = "all_gather_object"
    own = groups.of_member(call, group)
    if own is None:
        return
    list_of(call, "object_list", object_list, own.size())
    object_list[:] = [_value_of(call, part) for part in _parts(own, _bytes_of(call, own, obj))]


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """Sets the items of the list, which rank dst alone has, to the objects of the ranks."""
    call = "gather_object"
    own = groups.of_member(call, group)
    if own is None:
        return
    root = groups.place_of(call, own, "dst", dst, group_dst, default=0)
    is_root = root == own.rank()
    if is_root != (object_gather_list is not None):
        raise errors.ValueError(f"{call}: object_gather_list is {'missing' if is_root else 'given'} on rank {own.rank()}; rank {root} gathers")
    if is_root:
        list_of(call, "object_gather_list", object_gather_list, own.size())
    received = _parts(own, _bytes_of(call, own, obj))
    if is_root:
        object_gather_list[:] = [_value_of(call, each) for each in received]


def _passed_on(function, objects, own, root):
    """The objects of the root; those of other ranks say how many they expect."""
    is_root = root == own.rank()
    data = _bytes_of(function, own, objects if is_root else None)
    size = _sizes(own, data.shape[0])[root]
    data = data if is_root else _core.zeros((size,), dtype="u8")
    calls.broadcast(data, group=own, group_src=root)
    return objects if is_root else _value_of(function, data)


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Sets the items of the list to those of rank src."""
    call = "broadcast_object_list"
    own = groups.of_member(call, group)
    if own is None:
        return
    _expect_device(call, device)
    root = groups.place_of(call, own, "src", src, group_src, default=0)
    is_root = root == own.rank()
    values = _passed_on(call, list_of(call, "object_list", object_list), own, root)  # a list on all ranks: else one would go on alone
    if is_root:
        return
    if len(values) != len(object_list):
        raise errors.ValueError(f"{call}: object_list has {len(object_list)} items, that of rank {root} {len(values)}")
    object_list[:] = values


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Sets the first item of the output list to the object of rank src for this rank."""
    call = "scatter_object_list"
    own = groups.of_member(call, group)
    if own is None:
        return
    root = groups.place_of(call, own, "src", src, group_src, default=0)
    list_of(call, "scatter_object_output_list", scatter_object_output_list, least=1)
    given = None
    if root == own.rank():
        given = _sent(call, "scatter_object_input_list", scatter_object_input_list)
        if len(given) != own.size():
            raise errors.ValueError(f"{call}: scatter_object_input_list has {len(given)} objects, expected {own.size()}, one for each rank")
    scatter_object_output_list[0] = _passed_on(call, given, own, root)[own.rank()]


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None):
    """Sends the items of the list to rank dst."""
    call = "send_object_list"
    own = groups.of_member(call, group)
    if own is None:
        return
    _expect_device(call, device)
    place = messages.peer_of(call, own, "dst", dst, group_dst)
    data = _bytes_of(call, own, _sent(call, "object_list", object_list))
    messages.send(_placed(own, np.array([data.shape[0]])), group=own, group_dst=place)
    messages.send(data, group=own, group_dst=place)


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Sets the items of the list to those that rank src sends, or any rank. Returns the rank of the sender; -1 where this process is not in the
    group."""
    call = "recv_object_list"
    own = groups.of_member(call, group)
    if own is None:
        return -1
    _expect_device(call, device)
    list_of(call, "object_list", object_list)
    place = None if src is None and group_src is None else messages.peer_of(call, own, "src", src, group_src)
    size = _core.zeros((1,), dtype="i64")
    sender = messages.recv(size, group=own, group_src=place)
    data = _core.zeros((int(size[0]),), dtype="u8")
    messages.recv(data, group=own, group_src=own._ranks.index(sender))
    values = _value_of(call, data)
    if len(values) != len(object_list):
        raise errors.ValueError(f"{call}: object_list has {len(object_list)} items, {len(values)} were sent")
    object_list[:] = values
    return sender
