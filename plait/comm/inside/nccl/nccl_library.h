// The functions of NCCL that Plait calls, with the numbers of NVIDIA's documentation. The library
// is opened when it is first needed.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "plait/cuda/inside/driver/driver.h"

namespace plait::dist {

using NcclResult = int;  // ncclResult_t
inline constexpr NcclResult kNcclSuccess = 0, kNcclInProgress = 7;

using NcclComm = struct NcclCommTag*;

// ncclUniqueId: one rank makes it, with which all ranks connect.
struct NcclId {
  std::array<char, 128> bytes = {};
};

// ncclConfig_t as of version 2.14: newer libraries take the rest as its defaults.
struct NcclConfig {
  size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int is_blocking = 0;
};

// ncclDataType_t. NCCL has no integers of 16 bits.
enum class NcclType : int {
  i8 = 0,
  u8 = 1,
  i32 = 2,
  u32 = 3,
  i64 = 4,
  u64 = 5,
  f16 = 6,
  f32 = 7,
  f64 = 8,
  bf16 = 9,
};
// ncclRedOp_t.
enum class NcclOp : int { sum = 0, product = 1, max = 2, min = 3, average = 4 };

struct NcclLibrary {
  NcclResult (*get_version)(int*);
  NcclResult (*get_id)(NcclId*);
  NcclResult (*begin_comm)(NcclComm*, int size, NcclId, int rank, NcclConfig*);
  NcclResult (*get_state)(NcclComm, NcclResult*);
  NcclResult (*finalize)(NcclComm);
  NcclResult (*destroy)(NcclComm);
  NcclResult (*abort)(NcclComm);
  const char* (*get_error_string)(NcclResult);
  const char* (*get_last_error)(NcclComm);
  NcclResult (*group_start)();
  NcclResult (*group_end)();
  NcclResult (*all_reduce)(const void* in, void* out, size_t count, NcclType, NcclOp, NcclComm,
                           cuda::Stream);
  NcclResult (*reduce)(const void* in, void* out, size_t count, NcclType, NcclOp, int root,
                       NcclComm, cuda::Stream);
  NcclResult (*broadcast)(const void* in, void* out, size_t count, NcclType, int root, NcclComm,
                          cuda::Stream);
  NcclResult (*all_gather)(const void* in, void* out, size_t count, NcclType, NcclComm,
                           cuda::Stream);
  NcclResult (*reduce_scatter)(const void* in, void* out, size_t count, NcclType, NcclOp, NcclComm,
                               cuda::Stream);
  NcclResult (*send)(const void* in, size_t count, NcclType, int rank, NcclComm, cuda::Stream);
  NcclResult (*receive)(void* out, size_t count, NcclType, int rank, NcclComm, cuda::Stream);

  // That of the setting `nccl`.
  static const NcclLibrary& get();

  // DistError with NCCL's words, unless the call has succeeded or goes on.
  void check(NcclResult result, const char* call, NcclComm comm = nullptr) const;
};

// The library at a path, or that of the machine for "auto". DeviceError that says what to install
// if there is none, or one that is too old.
NcclLibrary open_nccl(const std::string& path);

}  // namespace plait::dist
