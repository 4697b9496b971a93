"""Groups of ranks: the group of all processes, and groups of some of them."""

import datetime
import os
import urllib.parse

from plait import _core, errors
from plait.inside.distributed.stores import FileStore, PrefixStore, Store, TCPStore, seconds_of
from plait.inside.help.names import in_words

_comm = _core._comm

default_pg_timeout = datetime.timedelta(minutes=30)


class ProcessGroup:
    """Ranks that act together. Calls of a group are made by all its ranks, in the same order."""

    def __init__(self, inner, ranks):
        self._inner = inner
        self._ranks = list(ranks)  # in the group of all

    def rank(self):
        """The rank of this process in the group."""
        return self._inner.rank()

    def size(self):
        """The number of ranks."""
        return self._inner.size()

    def name(self):
        """Its name, which is the same on all ranks."""
        return self._inner.name()

    group_name = property(name)

    def __repr__(self):
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
    count = 0  # groups of all processes so far


_world = _World()


def is_available():
    """True: every build has groups."""
    return True


def is_initialized():
    """True if init_process_group was called, and destroy_process_group not since."""
    return _world.group is not None


# Variables of mpirun (Open MPI, MPICH) and srun, which start ranks without a launcher of Python.
_OTHER_LAUNCHERS = {"RANK": ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"), "WORLD_SIZE": ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")}


def _integer_from_environment(name):
    text = next((os.environ[each] for each in (name, *_OTHER_LAUNCHERS.get(name, ())) if each in os.environ), None)
    if text is None:
        raise errors.ValueError.with_hint(
            f"init_process_group: the environment variable {name} is not set",
            "start the program by a launcher, set it, or pass init_method, rank and world_size")
    try:
        return int(text)
    except ValueError:
        raise errors.ValueError(f"init_process_group: the environment variable {name} is {text!r}, expected an integer") from None


def _tcp_store(host, port, rank, world_size, timeout):
    # A launcher that serves the store outlives the ranks.
    launcher_serves = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return TCPStore(host, port, world_size, rank == 0 and not launcher_serves, timeout)


def _store_of(init_method, rank, world_size, timeout):
    """(store, rank, world_size) of an init_method."""
    url = urllib.parse.urlparse(init_method)
    query = dict(urllib.parse.parse_qsl(url.query))
    rank = int(query["rank"]) if rank < 0 and "rank" in query else rank
    world_size = int(query["world_size"]) if world_size < 0 and "world_size" in query else world_size
    if url.scheme == "env":
        rank = _integer_from_environment("RANK") if rank < 0 else rank
        world_size = _integer_from_environment("WORLD_SIZE") if world_size < 0 else world_size
        port = _integer_from_environment("MASTER_PORT")
        return _tcp_store(os.environ.get("MASTER_ADDR", "localhost"), port, rank, world_size, timeout), rank, world_size
    if url.scheme not in ("tcp", "file"):
        raise errors.ValueError(f"init_process_group: init_method is {init_method!r}, expected env://, tcp://host:port or file:///path")
    if rank < 0 or world_size < 0:
        raise errors.ValueError(f"init_process_group: {init_method} needs rank and world_size")
    if url.scheme == "file":
        return FileStore(url.path, world_size), rank, world_size
    if url.port is None:
        raise errors.ValueError(f"init_process_group: {init_method} has no port")
    return _tcp_store(url.hostname, url.port, rank, world_size, timeout), rank, world_size


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name=""):
    """Joins the group of all processes, which WORLD is from then on; returns when all have joined. init_method is env:// (the variables
    MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, as launchers set them), tcp://host:port or file:///path; or a store is given, with rank and
    world_size. backend is "local", ranks on one host, or "auto"; timeout that of each call that has no other.

    >>> dist = plait.distributed
    >>> dist.init_process_group(store=dist.HashStore(), rank=0, world_size=1)
    >>> x = plait.ones(2)
    >>> dist.all_reduce(x)
    >>> dist.get_rank(), dist.get_world_size(), x.tolist()
    (0, 1, [1.0, 1.0])
    >>> dist.destroy_process_group()
    """
    if is_initialized():
        raise errors.ValueError.with_hint("init_process_group: it was called before", "call destroy_process_group first")
    timeout = default_pg_timeout if timeout is None else timeout
    seconds = seconds_of("init_process_group", timeout)
    if store is None:
        store, rank, world_size = _store_of(init_method or "env://", rank, world_size, timeout)
    elif init_method is not None:
        raise errors.ValueError("init_process_group: both init_method and store are given")
    elif not isinstance(store, Store):
        raise errors.TypeError(f"init_process_group: store is {in_words(store)}, expected a store")
    if rank < 0 or world_size < 0:
        raise errors.ValueError("init_process_group: a store needs rank and world_size")
    name = group_name or f"world {_world.count}"
    inner = _comm.join(store._inner, rank, world_size, backend or "auto", name, seconds)
    _world.count += 1
    _world.group, _world.store = ProcessGroup(inner, range(world_size)), store


def destroy_process_group(group=None):
    """Leaves a group, or all of them."""
    if group is None or group is _world.group:
        _world.group = _world.store = None
    elif isinstance(group, ProcessGroup):
        group._inner = None


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


def get_rank(group=None):
    """The rank of this process in a group; -1 if it is not in it."""
    return -1 if isinstance(group, _NonGroupMember) else the_group("get_rank", group).rank()


def get_world_size(group=None):
    """The number of ranks of a group; -1 if this process is not in it."""
    return -1 if isinstance(group, _NonGroupMember) else the_group("get_world_size", group).size()


def get_backend(group=None):
    """The name of the engine of a group: "local"."""
    return the_group("get_backend", group)._inner.engine()


def get_process_group_ranks(group=None):
    """The ranks of a group, in the group of all processes."""
    return list(the_group("get_process_group_ranks", group)._ranks)


def get_global_rank(group, group_rank):
    """The rank, in the group of all processes, of a rank of a group."""
    ranks = the_group("get_global_rank", group)._ranks
    if not 0 <= group_rank < len(ranks):
        raise errors.ValueError(f"get_global_rank: rank {group_rank} of a group of {len(ranks)}")
    return ranks[group_rank]


def get_group_rank(group, global_rank):
    """The rank in a group of a rank in the group of all processes."""
    ranks = the_group("get_group_rank", group)._ranks
    if global_rank not in ranks:
        raise errors.ValueError(f"get_group_rank: rank {global_rank} is not in the group, whose ranks are {ranks}")
    return ranks.index(global_rank)


def new_group(ranks=None, timeout=None, backend=None):
    """A group of some ranks, in this order. All processes call it, also those that are not in it, where it is GroupMember.NON_GROUP_MEMBER."""
    world = the_group("new_group", None)
    ranks = list(range(world.size())) if ranks is None else list(ranks)
    inner = world._inner.subgroup(ranks, seconds_of("new_group", timeout))
    return GroupMember.NON_GROUP_MEMBER if inner is None else ProcessGroup(inner, ranks)


def new_subgroups(group_size=None, group=None, timeout=None, backend=None):
    """(the group of this process, all groups) where consecutive ranks are divided into groups of one size."""
    world = the_group("new_subgroups", group)
    size = world.size() if group_size is None else group_size
    if size < 1 or world.size() % size != 0:
        raise errors.ValueError(f"new_subgroups: {world.size()} ranks cannot be divided into groups of {size}")
    groups = [new_group([world._ranks[i] for i in range(begin, begin + size)], timeout, backend) for begin in range(0, world.size(), size)]
    return groups[world.rank() // size], groups


def new_subgroups_by_enumeration(ranks_per_subgroup_list, timeout=None, backend=None):
    """(the group of this process, or None, and all groups) of lists of ranks, which have no rank in common."""
    every = [rank for ranks in ranks_per_subgroup_list for rank in ranks]
    if len(set(every)) != len(every):
        raise errors.ValueError("new_subgroups_by_enumeration: a rank is in two groups")
    groups = [new_group(ranks, timeout, backend) for ranks in ranks_per_subgroup_list]
    return next((each for each in groups if isinstance(each, ProcessGroup)), None), groups


def split_group(parent_pg=None, split_ranks=None, timeout=None):
    """The group of this process among those of a group that are divided by lists of its ranks; None if it is in none of them. Only ranks of the
    group call it."""
    parent = the_group("split_group", parent_pg)
    if not split_ranks:
        raise errors.ValueError("split_group: split_ranks is empty, expected lists of ranks")
    own = next((list(ranks) for ranks in split_ranks if parent.rank() in ranks), [])
    inner = parent._inner.subgroup(own, seconds_of("split_group", timeout))
    return None if inner is None else ProcessGroup(inner, [parent._ranks[rank] for rank in own])


def _get_default_store():
    return None if _world.store is None else PrefixStore("default", _world.store)
