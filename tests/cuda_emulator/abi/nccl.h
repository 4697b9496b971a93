// The part of NCCL's binary interface (version 2.28) that the emulator exports.
#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>

#include "tests/cuda_emulator/abi/cuda.h"

#pragma GCC visibility push(default)
extern "C" {

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

constexpr int ncclInt8 = 0, ncclUint8 = 1, ncclInt32 = 2, ncclUint32 = 3, ncclInt64 = 4,
              ncclUint64 = 5, ncclFloat16 = 6, ncclFloat32 = 7, ncclFloat64 = 8, ncclBfloat16 = 9;
constexpr int ncclSum = 0, ncclProd = 1, ncclMax = 2, ncclMin = 3, ncclAvg = 4;

using ncclComm_t = struct ncclComm*;

struct ncclUniqueId {
  char internal[128];
};

// The part that all versions from 2.14 on have; those who set more say so by the size.
struct ncclConfig_t {
  size_t size;
  unsigned magic;  // NCCL_API_MAGIC
  unsigned version;
  int blocking;
};
constexpr unsigned NCCL_API_MAGIC = 0xcafebeef;
constexpr int NCCL_CONFIG_UNDEF_INT = INT_MIN;

ncclResult_t ncclGetVersion(int* version);
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state);
ncclResult_t ncclCommCount(ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, int type, int op,
                           ncclComm_t comm, CUstream stream);
ncclResult_t ncclReduce(const void* in, void* out, size_t count, int type, int op, int root,
                        ncclComm_t comm, CUstream stream);
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, int type, int root,
                           ncclComm_t comm, CUstream stream);
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, int type, ncclComm_t comm,
                           CUstream stream);
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, int type, int op,
                               ncclComm_t comm, CUstream stream);
ncclResult_t ncclSend(const void* in, size_t count, int type, int peer, ncclComm_t comm,
                      CUstream stream);
ncclResult_t ncclRecv(void* out, size_t count, int type, int peer, ncclComm_t comm,
                      CUstream stream);

}  // extern "C"
#pragma GCC visibility pop
