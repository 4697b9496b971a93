#include "plait/comm/inside/nccl/nccl_library.h"

#include <string_view>

#include "plait/comm/inside/comm_settings.h"
#include "plait/core/error.h"
#include "plait/cuda/inside/driver/library.h"

namespace plait::dist {
namespace {

constexpr int kOldest = 21400;  // the first one whose communicators do not block

void expect_version(const NcclLibrary& n, const std::string& path) {
  int version = 0;
  n.get_version(&version);
  if (version >= kOldest) return;
  // Versions up to 2.8 have two digits less.
  const int major = version / (version < 10'000 ? 1000 : 10'000);
  const int minor = version / 100 % (version < 10'000 ? 10 : 100);
  throw DeviceError("NCCL is version {}.{}, expected 2.14 or newer: {}", major, minor, path)
      .hint("pip install -U nvidia-nccl-cu12; or name another library by the setting nccl");
}

}  // namespace

NcclLibrary open_nccl(const std::string& path) {
  const cuda::Library library = cuda::Library::open({.title = "NCCL",
                                                     .files = {"libnccl.so.2"},
                                                     .function = "ncclGetVersion",
                                                     .folders = {"nccl"},
                                                     .package = "nvidia-nccl-cu12",
                                                     .setting = "nccl"},
                                                    path);
  NcclLibrary n{};
  library.find(n.get_version, "ncclGetVersion");
  expect_version(n, library.path());
  library.find(n.get_id, "ncclGetUniqueId");
  library.find(n.begin_comm, "ncclCommInitRankConfig");
  library.find(n.get_state, "ncclCommGetAsyncError");
  library.find(n.finalize, "ncclCommFinalize");
  library.find(n.destroy, "ncclCommDestroy");
  library.find(n.abort, "ncclCommAbort");
  library.find(n.get_error_string, "ncclGetErrorString");
  library.find(n.get_last_error, "ncclGetLastError");
  library.find(n.group_start, "ncclGroupStart");
  library.find(n.group_end, "ncclGroupEnd");
  library.find(n.all_reduce, "ncclAllReduce");
  library.find(n.reduce, "ncclReduce");
  library.find(n.broadcast, "ncclBroadcast");
  library.find(n.all_gather, "ncclAllGather");
  library.find(n.reduce_scatter, "ncclReduceScatter");
  library.find(n.send, "ncclSend");
  library.find(n.receive, "ncclRecv");
  return n;
}

const NcclLibrary& NcclLibrary::get() {
  static const NcclLibrary library = open_nccl(kNccl.get());
  return library;
}

void NcclLibrary::check(NcclResult result, const char* call, NcclComm comm) const {
  if (result == kNcclSuccess || result == kNcclInProgress) return;
  const char* const last = get_last_error(comm);
  const std::string_view more = last == nullptr ? "" : last;
  throw DistError("{}: {}{}{}", call, get_error_string(result), more.empty() ? "" : ": ", more);
}

}  // namespace plait::dist
