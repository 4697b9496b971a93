"""Messages from one rank to another."""

from plait import _core, errors
from plait.inside.distributed import process_groups as groups
from plait.inside.distributed.arguments import MOST_INT, integer_of, seconds_of, tensor_of, written_of
from plait.inside.distributed.calls import put
from plait.inside.distributed.works import Work
from plait.inside.help.names import in_words

_comm = _core._comm


def _tag(function, tag):
    return integer_of(function, "tag", tag, 0, MOST_INT)


def peer_of(function, own, what, rank, group_rank):
    """The place of the other rank in the group."""
    place = groups.place_of(function, own, what, rank, group_rank)
    if place == own.rank():
        raise errors.ValueError(f"{function}: {what} is this rank, expected another one")
    return place


def _send(function, tensor, own, place, tag, timeout, is_async):
    """Sends to a place in a group."""
    seconds = seconds_of(function, timeout)
    return _comm.send(tensor_of(function, "tensor", tensor), place, own._inner, tag, seconds, is_async)


def _source(function, own, src, group_src):
    """The place of the sender in the group; -1 for any."""
    return -1 if src is None and group_src is None else peer_of(function, own, "src", src, group_src)


def _recv(function, tensor, own, place, tag, timeout, is_async):
    seconds = seconds_of(function, timeout)
    return _comm.recv(tensor, place, own._inner, tag, seconds, is_async)


def isend(tensor, dst=None, group=None, tag=0, group_dst=None, timeout=None):
    """Begins to send the tensor to rank dst, and returns a Work."""
    own, tag = groups.of_member("isend", group), _tag("isend", tag)
    if own is None:
        return None
    return Work(_send("isend", tensor, own, peer_of("isend", own, "dst", dst, group_dst), tag, timeout, True))


def send(tensor, dst=None, group=None, tag=0, group_dst=None, timeout=None):
    """Sends the tensor to rank dst, which receives it by recv with the same tag."""
    own, tag = groups.of_member("send", group), _tag("send", tag)
    if own is not None:
        _send("send", tensor, own, peer_of("send", own, "dst", dst, group_dst), tag, timeout, False)


def irecv(tensor, src=None, group=None, tag=0, group_src=None, timeout=None):
    """Begins to receive the tensor from rank src, or any rank, and returns a Work."""
    own, tag = groups.of_member("irecv", group), _tag("irecv", tag)
    if own is None:
        return None
    inner = _recv("irecv", written_of("irecv", "tensor", tensor), own, _source("irecv", own, src, group_src), tag, timeout, True)
    return Work(inner, lambda results: put(tensor, results[0]))


def recv(tensor, src=None, group=None, tag=0, group_src=None, timeout=None):
    """Gives the tensor the values that rank src sends, or any rank, with the same tag. Returns the rank of the sender; -1 where this process is
    not in the group."""
    own, tag = groups.of_member("recv", group), _tag("recv", tag)
    if own is None:
        return -1
    result, source = _recv("recv", written_of("recv", "tensor", tensor), own, _source("recv", own, src, group_src), tag, timeout, False)
    put(tensor, result)
    return own._ranks[source]


class P2POp:
    """One of the messages of batch_isend_irecv: isend or irecv, its tensor, and the other rank."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        op = getattr(op, "__wrapped__", op)  # the function of users is a boundary around it
        if op is not isend and op is not irecv:
            raise errors.ValueError(f"P2POp: op is {in_words(op)}, expected plait.distributed.isend or irecv")
        self.op, self.tensor, self.tag = op, tensor_of("P2POp", "tensor", tensor), _tag("P2POp", tag)
        self.group, self.peer, self.group_peer = groups.of_member("P2POp", group), None, None
        if self.group is None:
            self.group = group
        elif op is isend or peer is not None or group_peer is not None:
            self.group_peer = peer_of("P2POp", self.group, "peer", peer, group_peer)
            self.peer = self.group._ranks[self.group_peer]


def batch_isend_irecv(p2p_op_list):
    """Begins several messages of one group, and returns their Works."""
    call = "batch_isend_irecv"
    if not isinstance(p2p_op_list, (list, tuple)) or not all(isinstance(each, P2POp) for each in p2p_op_list):
        raise errors.ValueError(f"{call}: p2p_op_list is {in_words(p2p_op_list)}, expected a list of P2POp")
    for i, each in enumerate(p2p_op_list):
        if each.group is not p2p_op_list[0].group:
            raise errors.ValueError(f"{call}: p2p_op_list[{i}] is of another group than p2p_op_list[0], expected one group")
    begun = []
    for each in p2p_op_list:
        if groups.of_member(call, each.group) is None:
            continue
        begun.append(each.op(each.tensor, group=each.group, tag=each.tag, **{"group_dst" if each.op is isend else "group_src": each.group_peer}))
    return begun
