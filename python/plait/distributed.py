"""Processes that act as one, with the names and arguments of torch.distributed: stores, groups, and calls in which ranks exchange tensors. Where
ranks call different things, where one ends or is late, each has a DistError that says so: none waits for ever."""

from plait.errors import DistError
from plait.inside.data.samplers import DistributedSampler  # noqa: F401
from plait.inside.distributed.backends import (  # noqa: F401
    Backend, is_backend_available, is_gloo_available, is_mpi_available, is_nccl_available)
from plait.inside.distributed.calls import (  # noqa: F401
    ReduceOp, _make_nccl_premul_sum, all_gather, all_gather_coalesced, all_gather_into_tensor, all_reduce, all_reduce_coalesced, all_to_all, all_to_all_single, barrier,
    broadcast, gather, monitored_barrier, premul_sum, reduce, reduce_scatter, reduce_scatter_tensor, scatter)
from plait.inside.distributed.messages import P2POp, batch_isend_irecv, irecv, isend, recv, send  # noqa: F401
from plait.inside.distributed.process_groups import (  # noqa: F401
    GroupMember, ProcessGroup, default_pg_timeout, destroy_process_group, get_backend, get_global_rank, get_group_rank, get_process_group_ranks,
    get_rank, get_world_size, group, init_process_group, is_available, is_initialized, mesh, new_group, new_subgroups, new_subgroups_by_enumeration,
    recent_calls, split_group)
from plait.inside.distributed.objects import (  # noqa: F401
    all_gather_object, broadcast_object_list, gather_object, recv_object_list, scatter_object_list, send_object_list)
from plait.inside.distributed.rendezvous import get_node_local_rank, is_torchelastic_launched  # noqa: F401
from plait.inside.distributed.stores import FileStore, HashStore, PrefixStore, Store, TCPStore  # noqa: F401
from plait.inside.distributed import call_logs as _call_logs  # noqa: F401: it registers what a rank does when it ends
from plait.inside.distributed.works import Work  # noqa: F401
from plait.inside.help.names import of_public_module as _of_public_module

DistBackendError = DistNetworkError = DistStoreError = DistError  # PyTorch's names of what is one class here

__getattr__, __dir__, __all__ = _of_public_module(globals())
