// The functions of NCCL.
#include "tests/cuda_emulator/abi/nccl.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/driver/copies.h"
#include "tests/cuda_emulator/driver/state.h"
#include "tests/cuda_emulator/libraries/nccl_launch.h"

namespace emulator {
namespace {

struct NcclFailure {
  ncclResult_t result;
  std::string why;
};

void refuse(bool is_wrong, const std::string& why, ncclResult_t result = ncclInvalidArgument) {
  if (is_wrong) throw NcclFailure{result, why};
}

struct Communicator {
  std::shared_ptr<NcclMember> member;
  ncclUniqueId id = {};
  bool is_blocking = true;
  enum class Phase { connecting, open, finalizing, finalized } phase = Phase::connecting;
  ncclResult_t error = ncclSuccess;
  int polls = 0;     // since the last call, that were told that it goes on
  int launches = 0;  // so far
  struct Launch {
    CUstream stream = nullptr;
    std::shared_ptr<NcclLaunch> launch;
  };
  std::vector<Launch> pending;   // that are not in their stream yet
  std::shared_ptr<Marker> last;  // behind those that are
};

// The calls of a thread since ncclGroupStart.
struct Group {
  struct Call {
    ncclComm_t comm;
    CUstream stream;
    NcclOperation operation;
  };
  int depth = 0;
  std::vector<Call> calls;
  bool has_failed = false;
};

Group& group() {
  static thread_local Group own;
  return own;
}

Handles<Communicator>& communicators() {
  static auto* all = new Handles<Communicator>;
  return *all;
}

std::string& last_error() {
  static auto* text = new std::string;
  return *text;
}

int number_of(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text && *text ? std::atoi(text) : otherwise;
}

template <class F>
ncclResult_t entered_nccl(F&& body) {
  try {
    const std::lock_guard lock(driver_mutex());
    refuse(!state().is_initialized, "cuInit was not called", ncclUnhandledCudaError);
    return body();
  } catch (const NcclFailure& failure) {
    last_error() = failure.why;
    return failure.result;
  } catch (const Failure& failure) {
    last_error() = "the driver's error " + std::to_string(failure.result);
    return failure.result == CUDA_ERROR_INVALID_HANDLE ? ncclInvalidArgument
                                                       : ncclUnhandledCudaError;
  }
}

// ---- The state of a communicator.

// Ranks of a host have different GPUs.
void check_devices(Communicator& comm) {
  const NcclRanks& shared = *comm.member->shared;
  for (int a = 0; a < comm.member->size; ++a) {
    for (int b = 0; b < a; ++b) {
      if (shared.ranks[a].device != shared.ranks[b].device) continue;
      comm.error = ncclInvalidUsage;
      last_error() = "ranks " + std::to_string(b) + " and " + std::to_string(a) +
                     " are on the same GPU, " + std::to_string(shared.ranks[a].device);
    }
  }
}

bool have_all_come(const NcclMember& member) {
  const auto& ranks = member.shared->ranks;
  return std::all_of(ranks, ranks + member.size,
                     [](const NcclRank& rank) { return rank.is_there.load(); });
}

void put_into_streams(Communicator& comm) {
  for (const Communicator::Launch& launch : std::exchange(comm.pending, {})) {
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
    work.is_ready = [own = launch.launch] { return own->go_on(); };
    work.run = [own = launch.launch] { return own->result(); };
    comm.last = work.done;
    enqueue(stream_of(launch.stream), std::move(work));
  }
}

// Goes on with what a call has begun. A poll is told once that it goes on, at least.
ncclResult_t advance(Communicator& comm) {
  using Phase = Communicator::Phase;
  if (comm.error != ncclSuccess) return comm.error;
  if (comm.phase == Phase::connecting) {
    if (!have_all_come(*comm.member) || comm.polls++ == 0) return ncclInProgress;
    release_nccl_ranks(comm.id);
    check_devices(comm);
    comm.phase = Phase::open;
  }
  if (!comm.pending.empty()) {
    if (!comm.is_blocking && comm.polls++ == 0) return ncclInProgress;
    put_into_streams(comm);
  }
  if (comm.phase == Phase::finalizing) {
    if (comm.polls++ == 0 || !run_until(comm.last, false)) return ncclInProgress;
    comm.phase = Phase::finalized;
  }
  return comm.error;
}

ncclResult_t begun(Communicator& comm) {
  comm.polls = 0;
  if (!comm.is_blocking) return ncclInProgress;
  ncclResult_t result = advance(comm);
  for (; result == ncclInProgress; result = advance(comm)) wait_for_others();
  return result;
}

bool is_in_progress(const Communicator& comm) {
  return comm.phase == Communicator::Phase::connecting ||
         comm.phase == Communicator::Phase::finalizing || !comm.pending.empty();
}

Communicator& usable(ncclComm_t handle) {
  Communicator& comm = communicators().at(handle);
  if (is_in_progress(comm)) {
    note_finding("nccl: a communicator is used before its last call was accepted");
    refuse(true, "the communicator goes on with the last call");
  }
  refuse(comm.error != ncclSuccess, "the communicator has failed", comm.error);
  refuse(comm.phase == Communicator::Phase::finalized, "the communicator was finalized");
  return comm;
}

ncclResult_t begin_communicator(ncclComm_t* handle, int size, const ncclUniqueId& id, int rank,
                                const ncclConfig_t* config) {
  return entered_nccl([&] {
    required(handle) = nullptr;
    refuse(size < 1 || size > kMostRanks || rank < 0 || rank >= size, "a rank that is not there");
    refuse(config && config->magic != NCCL_API_MAGIC, "a configuration without its magic number");
    refuse(!current_context(), "no current context", ncclUnhandledCudaError);
    auto made = std::make_unique<Communicator>();
    made->id = id;
    if (config && config->version >= 21400) made->is_blocking = config->blocking != 0;
    made->member = std::make_shared<NcclMember>();
    NcclMember& member = *made->member;
    member.shared = open_nccl_ranks(id);
    refuse(!member.shared, "no rank with this id answers", ncclSystemError);
    member.rank = rank;
    member.size = size;
    member.device = current_context()->device;
    int expected = 0;
    refuse(!member.shared->size.compare_exchange_strong(expected, size) && expected != size,
           "ranks have other numbers of ranks", ncclInvalidUsage);
    NcclRank& own = member.shared->ranks[rank];
    refuse(own.is_there.load(), "another rank has this number", ncclInvalidUsage);
    const MemoryFile file = memory_file();
    own.process = getpid();
    own.device = member.device;
    own.file = file.descriptor;
    own.memory_begin = file.begin;
    own.memory_bytes = file.bytes;
    own.is_there.store(true);
    Communicator& comm = *communicators().add(std::move(made));
    *handle = reinterpret_cast<ncclComm_t>(&comm);
    return begun(comm);
  });
}

// ---- Calls.

struct Range {
  uint64_t begin, bytes;
  bool meets(const Range& other) const {
    return begin < other.begin + other.bytes && other.begin < begin + bytes;
  }
};

void check_buffer(const Range& range, const NcclMember& member, const char* which) {
  if (range.bytes == 0) return;
  refuse(device_with(range.begin) != member.device,
         std::string(which) + " is not of the communicator's device");
  try {
    require_allocated(range.begin, range.bytes);
  } catch (const Failure&) {
    refuse(true, std::string(which) + " is not allocated");
  }
}

// Buffers are distinct, or the operand is where the result of this rank is.
void check_buffers(const NcclOperation& operation, const NcclMember& member) {
  const NcclRecord& record = operation.record;
  const uint64_t width = bytes_of_nccl_type(record.type);
  const Range in{record.in, in_count(operation, member) * width},
      out{operation.out, out_count(operation, member) * width};
  check_buffer(in, member, "the operand");
  check_buffer(out, member, "the result");
  if (!in.meets(out)) return;
  const uint64_t own = static_cast<uint64_t>(member.rank) * record.count * width;
  const bool is_in_place = record.kind == NcclKind::all_gather       ? in.begin == out.begin + own
                           : record.kind == NcclKind::reduce_scatter ? out.begin == in.begin + own
                                                                     : in.begin == out.begin;
  refuse(!is_in_place, "the operand and the result overlap", ncclInvalidUsage);
}

void check_call(const Group::Call& call, const NcclMember& member) {
  const NcclRecord& record = call.operation.record;
  refuse(bytes_of_nccl_type(record.type) == 0, "a type that is not there");
  refuse(record.op < 0 || record.op > ncclAvg, "a reduction that is not there");
  refuse(record.root < 0 || record.root >= member.size, "a rank that is not there");
  const Stream& stream = stream_of(call.stream);
  refuse(stream.context->device != member.device, "a stream of another device");
  refuse(stream.capture != nullptr, "a capture, which the emulator does not know",
         ncclInvalidUsage);
  check_buffers(call.operation, member);
}

// A rank sends to itself what it receives in the same group.
void check_own_messages(const std::vector<NcclOperation>& operations, int rank) {
  int sent = 0;
  for (const NcclOperation& operation : operations) {
    if (operation.record.root != rank) continue;
    sent += operation.record.kind == NcclKind::send;
    sent -= operation.record.kind == NcclKind::receive;
  }
  refuse(sent != 0, "a message to itself is sent and received in one group", ncclInvalidUsage);
}

ncclResult_t launch(ncclComm_t handle, const std::vector<Group::Call>& calls) {
  Communicator& comm = usable(handle);
  std::vector<NcclOperation> operations;
  CUstream stream = nullptr;
  for (const Group::Call& call : calls) {
    if (call.comm != handle) continue;
    refuse(!operations.empty() && call.stream != stream, "one group in several streams",
           ncclInvalidUsage);
    stream = call.stream;
    operations.push_back(call.operation);
  }
  check_own_messages(operations, comm.member->rank);
  if (++comm.launches == number_of("PLAIT_EMULATED_NCCL_ERROR", 0)) {
    comm.error = ncclRemoteError;
    last_error() = "PLAIT_EMULATED_NCCL_ERROR names this launch";
    comm.member->is_stuck = true;
  }
  comm.pending.push_back(
      {stream, std::make_shared<NcclLaunch>(comm.member, std::move(operations))});
  return begun(comm);
}

ncclResult_t launch_all(const std::vector<Group::Call>& calls) {
  ncclResult_t result = ncclSuccess;
  std::vector<ncclComm_t> done;
  for (const Group::Call& call : calls) {
    if (std::find(done.begin(), done.end(), call.comm) != done.end()) continue;
    done.push_back(call.comm);
    const ncclResult_t own = launch(call.comm, calls);
    if (own != ncclSuccess) result = own;
  }
  return result;
}

ncclResult_t call(const NcclRecord& record, void* out, ncclComm_t handle, CUstream stream) {
  return entered_nccl([&] {
    Group& own = group();
    const bool is_message = record.kind == NcclKind::send || record.kind == NcclKind::receive;
    const Group::Call made{handle, stream, {record, reinterpret_cast<uint64_t>(out)}};
    own.has_failed = own.depth > 0;  // unless it returns below
    const Communicator& comm = usable(handle);
    if (!current_context()) throw NcclFailure{ncclUnhandledCudaError, "no current context"};
    check_call(made, *comm.member);
    own.has_failed = false;
    if (record.count == 0 && !is_message) return ncclSuccess;
    if (own.depth == 0) return launch_all({made});
    own.calls.push_back(made);
    return ncclSuccess;
  });
}

NcclRecord record_of(NcclKind kind, const void* in, size_t count, int type, int op, int root) {
  return {kind, type, op, root, count, reinterpret_cast<uint64_t>(in)};
}

}  // namespace
}  // namespace emulator

using namespace emulator;

ncclResult_t ncclGetVersion(int* version) {
  if (!version) return ncclInvalidArgument;
  *version = number_of("PLAIT_EMULATED_NCCL_VERSION", 22809);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "operation in progress";
  }
  return "unknown result code";
}

const char* ncclGetLastError(ncclComm_t) {
  static thread_local std::string copy;
  const std::lock_guard lock(driver_mutex());
  copy = last_error();
  return copy.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (!id) return ncclInvalidArgument;
  const std::lock_guard lock(driver_mutex());
  return make_nccl_ranks(*id);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return begin_communicator(comm, size, id, rank, config);
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return begin_communicator(comm, size, id, rank, nullptr);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* result) {
  return entered_nccl([&] {
    required(result) = advance(communicators().at(comm));
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(ncclComm_t comm, int* count) {
  return entered_nccl([&] {
    required(count) = usable(comm).member->size;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device) {
  return entered_nccl([&] {
    required(device) = usable(comm).member->device;
    return ncclSuccess;
  });
}
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return entered_nccl([&] {
    required(rank) = usable(comm).member->rank;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  return entered_nccl([&] {
    Communicator& comm = usable(handle);
    comm.phase = Communicator::Phase::finalizing;
    return begun(comm);
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  return entered_nccl([&] {
    const Communicator& comm = communicators().at(handle);
    if (is_in_progress(comm) || (comm.last && !comm.last->is_done))
      note_finding("nccl: a communicator is destroyed while it goes on");
    comm.member->is_aborted = true;
    communicators().take(handle);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  return entered_nccl([&] {
    communicators().at(handle).member->is_aborted = true;
    communicators().take(handle);
    stream_progress().notify_all();
    return ncclSuccess;
  });
}

ncclResult_t ncclGroupStart() {
  ++group().depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return entered_nccl([&] {
    Group& own = group();
    refuse(own.depth == 0, "ncclGroupEnd without ncclGroupStart", ncclInvalidUsage);
    if (--own.depth > 0) return ncclSuccess;
    const auto calls = std::exchange(own.calls, {});
    refuse(std::exchange(own.has_failed, false), "a call of the group has failed",
           ncclInvalidArgument);
    return launch_all(calls);
  });
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, int type, int op,
                           ncclComm_t comm, CUstream stream) {
  return call(record_of(NcclKind::all_reduce, in, count, type, op, 0), out, comm, stream);
}
ncclResult_t ncclReduce(const void* in, void* out, size_t count, int type, int op, int root,
                        ncclComm_t comm, CUstream stream) {
  return call(record_of(NcclKind::reduce, in, count, type, op, root), out, comm, stream);
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, int type, int root,
                           ncclComm_t comm, CUstream stream) {
  return call(record_of(NcclKind::broadcast, in, count, type, 0, root), out, comm, stream);
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, int type, ncclComm_t comm,
                           CUstream stream) {
  return call(record_of(NcclKind::all_gather, in, count, type, 0, 0), out, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, int type, int op,
                               ncclComm_t comm, CUstream stream) {
  return call(record_of(NcclKind::reduce_scatter, in, count, type, op, 0), out, comm, stream);
}
ncclResult_t ncclSend(const void* in, size_t count, int type, int peer, ncclComm_t comm,
                      CUstream stream) {
  return call(record_of(NcclKind::send, in, count, type, 0, peer), nullptr, comm, stream);
}
ncclResult_t ncclRecv(void* out, size_t count, int type, int peer, ncclComm_t comm,
                      CUstream stream) {
  return call(record_of(NcclKind::receive, nullptr, count, type, 0, peer), out, comm, stream);
}
