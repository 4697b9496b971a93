// The emulated NCCL: two ranks, each with a device, on one thread or in two processes.
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_emulator/tests/gpu.h"

namespace emulator_test {
namespace {

constexpr unsigned kMagic = NCCL_API_MAGIC;

ncclResult_t state_of(ncclComm_t comm) {
  ncclResult_t state = ncclInternalError;
  EXPECT_EQ(library().ncclCommGetAsyncError(comm, &state), ncclSuccess);
  return state;
}

// Polls until the last call is accepted, or has failed.
ncclResult_t accepted(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (int polls = 0; polls < 100 && state == ncclInProgress; ++polls) state = state_of(comm);
  return state;
}

void expect_begun(ncclResult_t result) {
  EXPECT_EQ(result, ncclInProgress) << library().ncclGetLastError(nullptr);
}

class Nccl : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    ASSERT_EQ(library().ncclGetUniqueId(&id_), ncclSuccess);
  }
  void TearDown() override {
    for (const ncclComm_t comm : comms_) {
      if (comm) library().ncclCommAbort(comm);
    }
    Gpu::TearDown();
  }

  // A communicator that does not block.
  void begin(int rank, int device) {
    use_device(device);
    ncclConfig_t config{sizeof(ncclConfig_t), kMagic, 21400, 0};
    ncclComm_t& comm = comms_[static_cast<size_t>(rank)];
    expect_begun(library().ncclCommInitRankConfig(&comm, 2, id_, rank, &config));
    streams_[static_cast<size_t>(rank)] = stream();
  }
  void connect() {
    for (int rank = 0; rank < 2; ++rank) begin(rank, rank);
    for (const ncclComm_t comm : comms_) ASSERT_EQ(accepted(comm), ncclSuccess);
  }

  struct Rank {
    ncclComm_t comm;
    CUstream stream;
    int rank;
  };
  // Calls on both ranks, and waits until they are in their streams.
  template <class Call>
  void on_both(const Call& call) {
    for (int rank = 0; rank < 2; ++rank) {
      use_device(rank);
      expect_begun(call(at(rank)));
      EXPECT_EQ(accepted(at(rank).comm), ncclSuccess);
    }
  }
  Rank at(int rank) const {
    return {comms_[static_cast<size_t>(rank)], streams_[static_cast<size_t>(rank)], rank};
  }
  template <class T>
  CUdeviceptr upload_to(int rank, const std::vector<T>& values) {
    use_device(rank);
    return upload(values);
  }
  template <class T>
  std::vector<T> result_of(int rank, CUdeviceptr address, size_t count) {
    use_device(rank);
    expect_success(library().cuStreamSynchronize(at(rank).stream));
    return download<T>(address, count);
  }

  ncclUniqueId id_ = {};
  std::array<ncclComm_t, 2> comms_ = {};
  std::array<CUstream, 2> streams_ = {};
};

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }
void* writable(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

using Floats = std::vector<float>;

TEST_F(Nccl, ConnectsWhenAllRanksHaveCome) {
  begin(0, 0);
  EXPECT_EQ(accepted(comms_[0]), ncclInProgress);
  int count = 0;
  EXPECT_EQ(library().ncclCommCount(comms_[0], &count), ncclInvalidArgument);
  EXPECT_NE(findings().find("used before its last call was accepted"), std::string::npos);
  begin(1, 1);
  EXPECT_EQ(state_of(comms_[1]), ncclInProgress);  // each call is told once, at least
  EXPECT_EQ(accepted(comms_[1]), ncclSuccess);
  EXPECT_EQ(accepted(comms_[0]), ncclSuccess);
  int device = -1, rank = -1;
  EXPECT_EQ(library().ncclCommCount(comms_[1], &count), ncclSuccess);
  EXPECT_EQ(library().ncclCommCuDevice(comms_[1], &device), ncclSuccess);
  EXPECT_EQ(library().ncclCommUserRank(comms_[1], &rank), ncclSuccess);
  EXPECT_EQ((std::array{count, device, rank}), (std::array{2, 1, 1}));
}

TEST_F(Nccl, RanksOnOneDeviceAreRefused) {
  begin(0, 0);
  begin(1, 0);
  EXPECT_EQ(accepted(comms_[0]), ncclInvalidUsage);
  EXPECT_NE(std::string(library().ncclGetLastError(nullptr)).find("ranks 0 and 1"),
            std::string::npos);
}

TEST_F(Nccl, RefusesRanksThatAreNotThere) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(library().ncclCommInitRank(&comm, 2, id_, 2), ncclInvalidArgument);
  ncclConfig_t config{sizeof(ncclConfig_t), 0, 21400, 0};
  EXPECT_EQ(library().ncclCommInitRankConfig(&comm, 2, id_, 0, &config), ncclInvalidArgument);
  EXPECT_EQ(library().ncclCommInitRank(&comm, 2, ncclUniqueId{}, 0), ncclSystemError);
  begin(0, 0);
  EXPECT_EQ(library().ncclCommInitRank(&comm, 2, id_, 0), ncclInvalidUsage);
  EXPECT_EQ(library().ncclCommInitRank(&comm, 3, id_, 1), ncclInvalidUsage);
}

TEST_F(Nccl, ReducesAndMoves) {
  connect();
  const std::array in = {upload_to(0, Floats{1, 2, 3, 4}), upload_to(1, Floats{5, 6, 7, 9})};
  const std::array out = {upload_to(0, Floats(8)), upload_to(1, Floats(8))};
  const auto own = [](const std::array<CUdeviceptr, 2>& buffers, const Rank& r) {
    return buffers[static_cast<size_t>(r.rank)];
  };
  const auto reduced = [&](int op) {
    on_both([&](const Rank& r) {
      return library().ncclAllReduce(pointer(own(in, r)), writable(own(out, r)), 4, ncclFloat32, op,
                                     r.comm, r.stream);
    });
    const Floats first = result_of<float>(0, out[0], 4);
    EXPECT_EQ(result_of<float>(1, out[1], 4), first);
    return first;
  };
  EXPECT_EQ(reduced(ncclSum), (Floats{6, 8, 10, 13}));
  EXPECT_EQ(reduced(ncclProd), (Floats{5, 12, 21, 36}));
  EXPECT_EQ(reduced(ncclMax), (Floats{5, 6, 7, 9}));
  EXPECT_EQ(reduced(ncclMin), (Floats{1, 2, 3, 4}));
  EXPECT_EQ(reduced(ncclAvg), (Floats{3, 4, 5, 6.5f}));
  on_both([&](const Rank& r) {
    return library().ncclAllGather(pointer(own(in, r)), writable(own(out, r)), 4, ncclFloat32,
                                   r.comm, r.stream);
  });
  EXPECT_EQ(result_of<float>(1, out[1], 8), (Floats{1, 2, 3, 4, 5, 6, 7, 9}));
  on_both([&](const Rank& r) {
    return library().ncclReduceScatter(pointer(own(in, r)), writable(own(out, r)), 2, ncclFloat32,
                                       ncclSum, r.comm, r.stream);
  });
  EXPECT_EQ(result_of<float>(1, out[1], 2), (Floats{10, 13}));
  on_both([&](const Rank& r) {
    return library().ncclBroadcast(pointer(own(in, r)), writable(own(out, r)), 4, ncclFloat32, 1,
                                   r.comm, r.stream);
  });
  EXPECT_EQ(result_of<float>(0, out[0], 4), (Floats{5, 6, 7, 9}));
  on_both([&](const Rank& r) {  // in place
    return library().ncclReduce(pointer(own(in, r)), writable(own(in, r)), 4, ncclFloat32, ncclSum,
                                0, r.comm, r.stream);
  });
  EXPECT_EQ(result_of<float>(0, in[0], 4), (Floats{6, 8, 10, 13}));
  EXPECT_EQ(result_of<float>(1, in[1], 4), (Floats{5, 6, 7, 9}));
  EXPECT_EQ(findings(), "");
}

TEST_F(Nccl, RunsInTheOrderOfTheStream) {
  connect();
  const CUdeviceptr first = upload_to(0, Floats{1}), second = upload_to(1, Floats{2});
  const auto all_reduce = [&](const Rank& r) {
    const CUdeviceptr own = r.rank == 0 ? first : second;
    return library().ncclAllReduce(pointer(own), writable(own), 1, ncclFloat32, ncclSum, r.comm,
                                   r.stream);
  };
  use_device(0);
  const CUevent too_early = event(), done = event();
  expect_begun(all_reduce(at(0)));
  expect_success(library().cuEventRecord(too_early, at(0).stream));  // before it was accepted
  EXPECT_EQ(accepted(at(0).comm), ncclSuccess);
  expect_success(library().cuEventRecord(done, at(0).stream));
  library().cuEventQuery(too_early);
  EXPECT_EQ(library().cuEventQuery(too_early), CUDA_SUCCESS);
  for (int polls = 0; polls < 20; ++polls)
    EXPECT_EQ(library().cuEventQuery(done), CUDA_ERROR_NOT_READY);
  use_device(1);
  expect_success(library().cuMemsetD32Async(second, 0x40400000, 1, at(1).stream));  // 3.f
  expect_begun(all_reduce(at(1)));
  EXPECT_EQ(accepted(at(1).comm), ncclSuccess);
  use_device(0);
  EXPECT_EQ(library().cuEventQuery(done), CUDA_SUCCESS);  // the other stream runs beside it
  EXPECT_EQ(result_of<float>(0, first, 1), Floats{4});
  EXPECT_EQ(result_of<float>(1, second, 1), Floats{4});
  EXPECT_EQ(findings(), "");
}

TEST_F(Nccl, RanksThatDifferNeverEnd) {
  connect();
  const std::array buffers = {upload_to(0, Floats(4)), upload_to(1, Floats(4))};
  on_both([&](const Rank& r) {
    const CUdeviceptr own = buffers[static_cast<size_t>(r.rank)];
    return library().ncclAllReduce(pointer(own), writable(own), 4 - static_cast<size_t>(r.rank),
                                   ncclFloat32, ncclSum, r.comm, r.stream);
  });
  const CUevent done = event();
  expect_success(library().cuEventRecord(done, at(1).stream));
  for (int polls = 0; polls < 20; ++polls)
    EXPECT_EQ(library().cuEventQuery(done), CUDA_ERROR_NOT_READY);
  EXPECT_NE(findings().find("runs ncclAllReduce of 4 elements"), std::string::npos) << findings();
  EXPECT_EQ(library().ncclCommAbort(std::exchange(comms_[1], nullptr)), ncclSuccess);
  EXPECT_EQ(library().cuEventQuery(done), CUDA_SUCCESS);
  library().plait_emulator_reset();
}

TEST_F(Nccl, MessagesAreMatchedInGroups) {
  connect();
  const std::array in = {upload_to(0, Floats{1, 2}), upload_to(1, Floats{3, 4})};
  const std::array out = {upload_to(0, Floats(2)), upload_to(1, Floats(2))};
  const auto send = [&](const Rank& r) {
    return library().ncclSend(pointer(in[static_cast<size_t>(r.rank)]), 2, ncclFloat32, 1 - r.rank,
                              r.comm, r.stream);
  };
  const auto receive = [&](const Rank& r) {
    return library().ncclRecv(writable(out[static_cast<size_t>(r.rank)]), 2, ncclFloat32,
                              1 - r.rank, r.comm, r.stream);
  };
  on_both([&](const Rank& r) {
    EXPECT_EQ(library().ncclGroupStart(), ncclSuccess);
    EXPECT_EQ(send(r), ncclSuccess);
    EXPECT_EQ(receive(r), ncclSuccess);
    return library().ncclGroupEnd();
  });
  EXPECT_EQ(result_of<float>(0, out[0], 2), (Floats{3, 4}));
  EXPECT_EQ(result_of<float>(1, out[1], 2), (Floats{1, 2}));
  // Each stream waits for what the other one has behind.
  on_both(send);
  on_both(receive);
  const CUevent done = event();
  expect_success(library().cuEventRecord(done, at(1).stream));
  for (int polls = 0; polls < 20; ++polls)
    EXPECT_EQ(library().cuEventQuery(done), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(findings(), "");
  library().plait_emulator_reset();
}

TEST_F(Nccl, GroupsAreClosed) {
  connect();
  EXPECT_EQ(library().ncclGroupEnd(), ncclInvalidUsage);
  const CUdeviceptr x = upload_to(0, Floats(4));
  const Rank r = at(0);
  const auto group_of = [&](const auto& call) {
    EXPECT_EQ(library().ncclGroupStart(), ncclSuccess);
    call();
    return library().ncclGroupEnd();
  };
  EXPECT_EQ(group_of([&] { library().ncclSend(pointer(x), 4, 99, 1, r.comm, r.stream); }),
            ncclInvalidArgument);
  EXPECT_EQ(group_of([&] { library().ncclSend(pointer(x), 4, ncclFloat32, 0, r.comm, r.stream); }),
            ncclInvalidUsage);  // a message to itself that it does not receive
  const CUstream other = stream();
  EXPECT_EQ(group_of([&] {
              library().ncclSend(pointer(x), 2, ncclFloat32, 1, r.comm, r.stream);
              library().ncclSend(pointer(x), 2, ncclFloat32, 1, r.comm, other);
            }),
            ncclInvalidUsage);
  EXPECT_EQ(group_of([] {}), ncclSuccess);
  EXPECT_EQ(findings(), "");
}

TEST_F(Nccl, RefusesBuffersAndStreams) {
  connect();
  const CUdeviceptr there = upload_to(1, Floats(8)), x = upload_to(0, Floats(8));
  const CUdeviceptr y = upload_to(0, Floats(8));
  const auto refused = [&](CUdeviceptr in, CUdeviceptr out, CUstream stream) {
    return library().ncclAllReduce(pointer(in), writable(out), 4, ncclFloat32, ncclSum, at(0).comm,
                                   stream);
  };
  EXPECT_EQ(refused(there, y, at(0).stream), ncclInvalidArgument);
  EXPECT_EQ(refused(x, there, at(0).stream), ncclInvalidArgument);
  EXPECT_EQ(refused(x + 20, y, at(0).stream), ncclInvalidArgument);  // past the end
  EXPECT_EQ(refused(x, x + 4, at(0).stream), ncclInvalidUsage);      // they overlap
  EXPECT_EQ(refused(x, y, at(1).stream), ncclInvalidArgument);
  EXPECT_EQ(library().ncclReduce(pointer(x), writable(y), 4, ncclFloat32, ncclSum, 2, at(0).comm,
                                 at(0).stream),
            ncclInvalidArgument);
  EXPECT_EQ(
      library().ncclAllReduce(pointer(x), writable(y), 4, ncclFloat32, 5, at(0).comm, at(0).stream),
      ncclInvalidArgument);
  EXPECT_EQ(refused(x, y, reinterpret_cast<CUstream>(&id_)), ncclInvalidArgument);
  EXPECT_EQ(findings(), "");
}

TEST_F(Nccl, MemoryIsThereWhenTheStreamIs) {
  connect();
  const CUdeviceptr other = upload_to(1, Floats(4));
  use_device(0);
  const CUstream own = at(0).stream;
  CUdeviceptr x = 0;
  const auto all_reduce = [&](const Rank& r) {
    const CUdeviceptr buffer = r.rank == 0 ? x : other;
    return library().ncclAllReduce(pointer(buffer), writable(buffer), 4, ncclFloat32, ncclSum,
                                   r.comm, r.stream);
  };
  expect_success(library().cuMemAllocAsync(&x, 16, own));
  expect_success(library().cuMemsetD32Async(x, 0, 4, own));
  expect_begun(all_reduce(at(0)));
  expect_success(library().cuMemFreeAsync(x, own));  // before the call was accepted
  EXPECT_EQ(accepted(at(0).comm), ncclSuccess);
  expect_finding(CUDA_ERROR_ILLEGAL_ADDRESS, "ncclAllReduce: outside");
}

TEST_F(Nccl, ReadsOfWhatWasNeverWritten) {
  connect();
  use_device(0);
  const CUdeviceptr x = allocate(16);
  expect_begun(library().ncclAllReduce(pointer(x), writable(x), 4, ncclFloat32, ncclSum, at(0).comm,
                                       at(0).stream));
  EXPECT_EQ(accepted(at(0).comm), ncclSuccess);
  expect_finding(CUDA_ERROR_LAUNCH_FAILED, "ncclAllReduce: unwritten");
}

TEST_F(Nccl, NumbersAreThoseOfNccl) {
  connect();
  // The minimum leaves NaN out; sums of 16 bits are rounded at each step, and integers wrap.
  const std::array floats = {upload_to(0, Floats{NAN}), upload_to(1, Floats{2})};
  const std::array bytes = {upload_to(0, std::vector<uint8_t>{200}),
                            upload_to(1, std::vector<uint8_t>{100})};
  const std::array halves = {upload_to(0, std::vector<uint16_t>{0x3f80}),   // bf16: 1
                             upload_to(1, std::vector<uint16_t>{0x3b00})};  // 2^-9
  const auto reduce = [&](const std::array<CUdeviceptr, 2>& x, int type, int op) {
    on_both([&](const Rank& r) {
      const CUdeviceptr own = x[static_cast<size_t>(r.rank)];
      return library().ncclAllReduce(pointer(own), writable(own), 1, type, op, r.comm, r.stream);
    });
  };
  reduce(floats, ncclFloat32, ncclMin);
  EXPECT_EQ(result_of<float>(0, floats[0], 1), Floats{2});
  reduce(bytes, ncclUint8, ncclSum);
  EXPECT_EQ(result_of<uint8_t>(1, bytes[1], 1)[0], 44);
  reduce(halves, ncclBfloat16, ncclSum);
  EXPECT_EQ(result_of<uint16_t>(1, halves[1], 1)[0], 0x3f80);
}

TEST_F(Nccl, AFailureIsAState) {
  connect();
  const WithSetting setting("PLAIT_EMULATED_NCCL_ERROR", "1");
  const CUdeviceptr x = upload_to(0, Floats(4));
  const auto all_reduce = [&] {
    return library().ncclAllReduce(pointer(x), writable(x), 4, ncclFloat32, ncclSum, at(0).comm,
                                   at(0).stream);
  };
  expect_begun(all_reduce());
  EXPECT_EQ(accepted(at(0).comm), ncclRemoteError);
  EXPECT_EQ(all_reduce(), ncclInvalidArgument);
}

TEST_F(Nccl, EndsInOrder) {
  connect();
  for (int rank = 0; rank < 2; ++rank) {
    ncclComm_t& comm = comms_[static_cast<size_t>(rank)];
    expect_begun(library().ncclCommFinalize(comm));
    EXPECT_EQ(state_of(comm), ncclInProgress);
    EXPECT_EQ(accepted(comm), ncclSuccess);
    EXPECT_EQ(library().ncclCommFinalize(comm), ncclInvalidArgument);
    EXPECT_EQ(library().ncclCommDestroy(std::exchange(comm, nullptr)), ncclSuccess);
  }
  EXPECT_EQ(library().ncclCommDestroy(reinterpret_cast<ncclComm_t>(&id_)), ncclInvalidArgument);
  EXPECT_EQ(findings(), "");
}

// The sum of what two processes have, as one of them sees it.
bool sums_in_a_process(int rank, const ncclUniqueId& id) {
  const Library& l = library();
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr x = 0;
  ncclComm_t comm = nullptr;
  const std::vector<float> values(1000, static_cast<float>(rank + 1));
  std::vector<float> sums(values.size());
  const size_t bytes = values.size() * sizeof(float);
  if (l.cuInit(0) || l.cuDevicePrimaryCtxRetain(&context, rank) || l.cuCtxSetCurrent(context) ||
      l.cuStreamCreate(&stream, 0) || l.cuMemAlloc_v2(&x, bytes) ||
      l.cuMemcpyHtoD_v2(x, values.data(), bytes))
    return false;
  if (l.ncclCommInitRank(&comm, 2, id, rank) != ncclSuccess) return false;
  for (int round = 0; round < 10; ++round) {
    if (l.ncclAllReduce(pointer(x), writable(x), values.size(), ncclFloat32, ncclSum, comm,
                        stream) != ncclSuccess)
      return false;
  }
  if (l.cuStreamSynchronize(stream) || l.cuMemcpyDtoH_v2(sums.data(), x, bytes)) return false;
  return sums == std::vector<float>(values.size(), 3.f * 512);
}

TEST(NcclProcesses, AddWhatEachHas) {
  std::array<int, 2> pipe_ends = {};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  std::array<pid_t, 2> children = {};
  for (int rank = 0; rank < 2; ++rank) {
    children[static_cast<size_t>(rank)] = fork();
    if (children[static_cast<size_t>(rank)] != 0) continue;
    ncclUniqueId id = {};
    if (rank == 0) {
      library().ncclGetUniqueId(&id);
      (void)!write(pipe_ends[1], &id, sizeof id);
    } else {
      (void)!read(pipe_ends[0], &id, sizeof id);
    }
    _exit(sums_in_a_process(rank, id) ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace emulator_test
