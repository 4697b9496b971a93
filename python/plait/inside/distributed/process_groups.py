"""Groups of ranks: the group of all processes, and groups of some of them."""

import datetime
import os
import sys
import weakref

from plait import _core, errors
from plait.inside.arrays.devices import device
from plait.inside.distributed.arguments import MOST_INT, expect_different, expect_none, flag_of, integer_of, integers_of, seconds_of, text_of
from plait.inside.distributed.backends import engine_of
from plait.inside.distributed.rendezvous import expect_place, store_of
from plait.inside.distributed.stores import PrefixStore, Store
from plait.inside.distributed.works import Pending
from plait.inside.help.names import in_words
from plait.inside.help.warning import warn
from plait.inside.transforms.meshes import Mesh, sizes_of

_comm = _core._comm

NO_OPTIONS = "leave it out: engines have no options, and that of nccl alone has a device"
default_pg_timeout = datetime.timedelta(minutes=30)


class ProcessGroup:
    """Ranks that act together. Calls of a group are made by all its ranks, in the same order."""

    def __init__(self, inner, ranks, group_desc="undefined"):
        if not isinstance(inner, _comm.Group):
            raise errors.TypeError(f"ProcessGroup: inner is {in_words(inner)}; init_process_group and new_group make groups")
        self._inner = inner  # None when the group was destroyed
        self._ranks = list(ranks)  # in the group of all
        self.group_desc = group_desc
        self._pending = Pending()
        self._splits = 0  # how often it was divided
        _world.groups.add(self)

    def _used_by(self, call):
        if self._inner is None:
            raise errors.ValueError(f"{call}: the group was destroyed")
        return self._inner

    def rank(self):
        """The rank of this process in the group."""
        return self._used_by("ProcessGroup.rank").rank()

    def size(self):
        """The number of ranks."""
        return self._used_by("ProcessGroup.size").size()

    def name(self):
        """The name of its engine, as get_backend returns it."""
        return self._used_by("ProcessGroup.name").engine()

    @property
    def group_name(self):
        """Its name, which is the same on all ranks."""
        return self._used_by("ProcessGroup.group_name").name()

    def __repr__(self):
        if self._inner is None:
            return "ProcessGroup(destroyed)"
        return f"ProcessGroup(rank {self.rank()} of {self.size()}, {self._inner.engine()!r})"


class _NonGroupMember:
    """The group that new_group returns on ranks that are not in it."""

    def __repr__(self):
        return "GroupMember.NON_GROUP_MEMBER"


class _WorldOfClass(type):
    @property
    def WORLD(cls):
        """The group of all processes; None before init_process_group."""
        return _world.group


class GroupMember(metaclass=_WorldOfClass):
    """WORLD is the group of all processes, NON_GROUP_MEMBER a group that this process is not in."""

    NON_GROUP_MEMBER = _NonGroupMember()


class group(metaclass=_WorldOfClass):
    """WORLD is the group of all processes; None before init_process_group."""


class _World:
    group = None
    store = None
    count = 0  # groups of all processes in given stores so far
    process = None  # that leaves them when it ends
    groups = weakref.WeakSet()  # all that were made and not destroyed


_world = _World()


def is_available():
    """True: every build has groups."""
    return True


def is_initialized():
    """True if init_process_group was called, and destroy_process_group not since."""
    return _world.group is not None


def _store_given(store, init_method, rank, world_size):
    """A store, and the name of a group in it that no other one had."""
    if init_method is not None:
        raise errors.ValueError("init_process_group: both init_method and store are given")
    if not isinstance(store, Store):
        raise errors.TypeError(f"init_process_group: store is {in_words(store)}, expected a store")
    if rank == -1 or world_size == -1:
        raise errors.ValueError("init_process_group: a store needs rank and world_size")
    expect_place(rank, world_size)
    return store, f"world {_world.count}"


def _gpu_of(call, device_id, engine):
    """The name of the GPU that a rank of nccl is given; "" if none is."""
    if device_id is None:
        return ""
    if engine != "nccl":
        expect_none(call, NO_OPTIONS, device_id=device_id)
    return str(device(f"cuda:{device_id}" if type(device_id) is int else device_id))


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="", pg_options=None,
                       device_id=None):
    """Joins the group of all processes, which WORLD is from then on; returns when all have joined. init_method is env:// (the variables
    MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as launchers set them), tcp://host:port or file:///path; or a store is given, with rank and
    world_size. A place may be used again after destroy_process_group: all ranks come equally often. backend is "local" for ranks on
    one host, "gloo" or, under mpirun, "mpi" for ranks on any, "auto" for one of these, or "nccl" for tensors on GPUs: device_id is that of
    this rank, by default the next one of the host. timeout is that of each call that has no other.

    >>> dist = plait.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = plait.ones(2)
    >>> dist.all_reduce(x)
    >>> dist.get_rank(), dist.get_world_size(), x.tolist()
    (0, 1, [1.0, 1.0])
    >>> dist.destroy_process_group()
    """
    call = "init_process_group"
    if is_initialized():
        raise errors.ValueError.with_hint(f"{call}: it was called before", "call destroy_process_group first")
    engine, given_name = engine_of(call, backend), text_of(call, "group_name", group_name)
    seconds = seconds_of(call, default_pg_timeout if timeout is None else timeout)
    rank, world_size = integer_of(call, "rank", rank, -1, MOST_INT), integer_of(call, "world_size", world_size, -1, MOST_INT)
    expect_none(call, NO_OPTIONS, pg_options=pg_options)
    gpu = _gpu_of(call, device_id, engine)
    if store is None:
        place, rank, world_size = store_of("env://" if init_method is None else init_method, rank, world_size, seconds)
        name = "world"
    else:
        place, name = _store_given(store, init_method, rank, world_size)
    inner = _comm.join(place._inner, rank, world_size, engine, given_name or name, seconds, gpu)
    _world.count += store is not None
    _world.group, _world.store = ProcessGroup(inner, range(world_size), "default_pg"), place
    if _world.process != os.getpid():
        from multiprocessing import util

        _world.process = os.getpid()
        # Processes that multiprocessing has forked call it too, and nothing of atexit.
        util.Finalize(None, _leave_at_the_end, exitpriority=0)


def _leave_at_the_end():
    """Leaves the groups when the process ends, also one that was forked. If an error ends it, the other ranks need not wait for it."""
    error = getattr(sys, "last_value", None)
    for each in list(_world.groups):
        if each._inner is not None and error is not None:
            each._inner.give_up(f"was ended by {type(error).__name__}: {error}")
    if is_initialized():
        destroy_process_group()


def destroy_process_group(group=None):
    """Leaves a group; without one, or with WORLD, all groups. Calls that were begun are over then. Later uses of the groups are a ValueError."""
    if isinstance(group, _NonGroupMember):
        return
    given = the_group("destroy_process_group", group)
    left = list(_world.groups) if given is _world.group else [given]
    for each in left:
        each._pending.wait()
        each._inner.leave()
    if given is _world.group:
        _world.group = _world.store = None
    for each in left:
        each._inner = None
        _world.groups.discard(each)


def the_group(function, group):
    """The group of a call, as C++ knows it; that of all processes if none is given."""
    group = _world.group if group is None else group
    if group is None:
        raise errors.ValueError.with_hint(f"{function}: there is no group of processes", "call plait.distributed.init_process_group first")
    if isinstance(group, _NonGroupMember):
        raise errors.ValueError(f"{function}: this process is not in the group")
    if not isinstance(group, ProcessGroup):
        raise errors.TypeError(f"{function}: group is {in_words(group)}, expected a ProcessGroup")
    if group._inner is None:
        raise errors.ValueError(f"{function}: the group was destroyed")
    return group


def mesh(axes, group=None):
    """The mesh of the ranks of a group, by default all, for plait.shard_map: a dict of sizes by name, whose product is the number of ranks. Ranks
    that differ along the last axis alone are neighbours. A call of all ranks of the group."""
    sizes = sizes_of("mesh", axes)
    return Mesh._of_ranks(_comm.mesh_of(the_group("mesh", group)._inner, sizes))


_warned = set()


def of_member(function, group):
    """The group of a call; None where this process is not in it: the call does nothing then, as in PyTorch, and warns once."""
    if not isinstance(group, _NonGroupMember):
        return the_group(function, group)
    if function not in _warned:
        _warned.add(function)
        warn(f"{function}: this process is not in the group: the call does nothing")
    return None


def place_of(function, group, what, rank, group_rank, default=None):
    """The rank in the group of `what`, src or dst, which is given as one of all processes, or by group_src or group_dst as one of the group."""
    if rank is not None and group_rank is not None:
        raise errors.ValueError(f"{function}: both {what} and group_{what} are given")
    if group_rank is not None:
        return integer_of(function, f"group_{what}", group_rank, 0, group.size() - 1)
    rank = default if rank is None else integer_of(function, what, rank)
    if rank is None:
        raise errors.ValueError(f"{function}: {what} is missing, expected a rank; group_{what} is one of the group")
    if rank not in group._ranks:
        raise errors.ValueError(f"{function}: {what} is {rank}: rank {rank} is not in the group, whose ranks are {group._ranks}")
    return group._ranks.index(rank)


def get_rank(group=None):
    """The rank of this process in a group; -1 if it is not in it."""
    return -1 if isinstance(group, _NonGroupMember) else the_group("get_rank", group).rank()


def get_world_size(group=None):
    """The number of ranks of a group; -1 if this process is not in it."""
    return -1 if isinstance(group, _NonGroupMember) else the_group("get_world_size", group).size()


def get_backend(group=None):
    """The name of the engine of a group: "local", "gloo", "mpi" or "nccl"."""
    return the_group("get_backend", group)._inner.engine()


def get_process_group_ranks(group=None):
    """The ranks of a group, in the group of all processes."""
    return list(the_group("get_process_group_ranks", group)._ranks)


def get_global_rank(group, group_rank):
    """The rank, in the group of all processes, of a rank of a group."""
    ranks = the_group("get_global_rank", group)._ranks
    return ranks[integer_of("get_global_rank", "group_rank", group_rank, 0, len(ranks) - 1)]


def get_group_rank(group, global_rank):
    """The rank in a group of a rank in the group of all processes."""
    ranks = the_group("get_group_rank", group)._ranks
    global_rank = integer_of("get_group_rank", "global_rank", global_rank)
    if global_rank not in ranks:
        raise errors.ValueError(f"get_group_rank: rank {global_rank} is not in the group, whose ranks are {ranks}")
    return ranks.index(global_rank)


# ---- Groups of some ranks.


def _checked(call, timeout, backend, pg_options, group_desc):
    """(seconds, engine, group_desc) of a group of some ranks; "" is the engine of the group that it is a part of."""
    if group_desc is not None:
        text_of(call, "group_desc", group_desc)
    expect_none(call, NO_OPTIONS, pg_options=pg_options)
    return seconds_of(call, timeout), "" if backend is None else engine_of(call, backend), group_desc or "undefined"


def _part_of(parent, places, options, by_members=False, gpu=""):
    """The group of some ranks of a group, by their places in it. All its ranks call this, or those that are in it alone."""
    seconds, engine, group_desc = options
    inner = parent._inner.subgroup(places, seconds, engine, by_members, gpu)
    return GroupMember.NON_GROUP_MEMBER if inner is None else ProcessGroup(inner, [parent._ranks[place] for place in places], group_desc)


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False, group_desc=None, device_id=None,
              sort_ranks=True):
    """A group of some ranks, in ascending order, or with sort_ranks=False in this one. All processes call it, also those that are not in it, where
    it is GroupMember.NON_GROUP_MEMBER: calls of it do nothing there. With use_local_synchronization=True its ranks alone call it."""
    world = the_group("new_group", None)
    options = _checked("new_group", timeout, backend, pg_options, group_desc)
    gpu = _gpu_of("new_group", device_id, options[1] or world._inner.engine())
    by_members = flag_of("new_group", "use_local_synchronization", use_local_synchronization)
    ranks = range(world.size()) if ranks is None else ranks
    places = expect_different("new_group", "ranks", integers_of("new_group", "ranks", ranks, 0, world.size() - 1))
    return _part_of(world, sorted(places) if flag_of("new_group", "sort_ranks", sort_ranks) else places, options, by_members, gpu)


def new_subgroups(group_size=None, group=None, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(the group of this process, all groups) where consecutive ranks are divided into groups of one size. All ranks of the group call it."""
    parent = the_group("new_subgroups", group)
    options = _checked("new_subgroups", timeout, backend, pg_options, group_desc)
    count = parent.size()
    size = count if group_size is None else integer_of("new_subgroups", "group_size", group_size, 1, count)
    if count % size != 0:
        raise errors.ValueError(f"new_subgroups: {count} ranks cannot be divided into groups of {size}")
    groups = [_part_of(parent, sorted(range(begin, begin + size), key=parent._ranks.__getitem__), options)
              for begin in range(0, count, size)]
    return groups[parent.rank() // size], groups


def _lists_of_ranks(call, what, lists, count):
    """Lists of ranks that have none in common."""
    if not isinstance(lists, (list, tuple)) or not lists:
        raise (errors.ValueError if lists is None or isinstance(lists, (list, tuple)) else errors.TypeError)(
            f"{call}: {what} is {in_words(lists)}, expected lists of ranks")
    checked = [integers_of(call, f"{what}[{i}]", ranks, 0, count - 1) for i, ranks in enumerate(lists)]
    seen = {}
    for i, rank in ((i, rank) for i, ranks in enumerate(checked) for rank in ranks):
        if rank in seen:
            raise errors.ValueError(f"{call}: rank {rank} is in {what}[{seen[rank]}] and {what}[{i}], expected lists that have none in common")
        seen[rank] = i
    return checked


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None, pg_options=None, group_desc=None):
    """(the group of this process, or None, and all groups) of lists of ranks, which have no rank in common."""
    call = "new_subgroups_by_enumeration"
    world = the_group(call, None)
    options = _checked(call, timeout, backend, pg_options, group_desc)
    lists = _lists_of_ranks(call, "ranks_per_subgroup_list", ranks_per_subgroup_list, world.size())
    groups = [_part_of(world, sorted(ranks), options) for ranks in lists]
    return next((each for each in groups if isinstance(each, ProcessGroup)), None), groups


def split_group(parent_pg=None, split_ranks=None, timeout=None, pg_options=None, group_desc=None, backend=None):
    """The group of this process among those of a group that are divided by lists of its ranks; GroupMember.NON_GROUP_MEMBER if it is in none of
    them. Only ranks of the group call it."""
    parent = the_group("split_group", parent_pg)
    options = _checked("split_group", timeout, backend, pg_options, group_desc)
    lists = _lists_of_ranks("split_group", "split_ranks", split_ranks, parent.size())
    if group_desc is None:
        options = (*options[:2], f"{parent.group_desc}:split:{parent._splits}")
    parent._splits += 1
    own = next((ranks for ranks in lists if parent.rank() in ranks), None)
    return GroupMember.NON_GROUP_MEMBER if own is None else _part_of(parent, own, options, by_members=True)


def recent_calls():
    """The last 1,000 calls and messages of this process in all its groups, a line for each. When a call fails, they are written to the folder that
    the setting call_log names."""
    return _comm.recent_calls()


def _get_default_store():
    return None if _world.store is None else PrefixStore("default", _world.store)
