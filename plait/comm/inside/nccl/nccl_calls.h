// Calls of a group as operations of NCCL.
#pragma once

#include "plait/comm/inside/calls/collective_call.h"
#include "plait/comm/inside/nccl/nccl_library.h"

namespace plait::dist {

// Throws a DistError for a reduction that NCCL does not have.
void expect_nccl_has(const Call& call);

// Queues what a call does on this rank; nothing if no rank has an element.
void queue_call(const Call& call, int rank, int size, const NcclLibrary& nccl, NcclComm comm,
                cuda::Stream stream);

}  // namespace plait::dist
