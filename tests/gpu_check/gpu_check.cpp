// plait_gpu_check: what scripts/gpu_check.sh runs on a machine with a GPU.
//
//   plait_gpu_check device                    its architecture and free memory
//   plait_gpu_check replay FILE [FIRST]       recorded cases beside the CPU; exits with 1 if one
//   differs,
//                                             with 3 if the device was lost
//   plait_gpu_check nccl                      calls among the GPUs; exits with 1 if one is wrong
//   plait_gpu_check speed [NAME [SECONDS]]    a line of JSON for each operation
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/gpu_check/device_speed.h"
#include "tests/gpu_check/nccl_check.h"
#include "tests/gpu_check/recorded_cases.h"

namespace plait::gpu_check {
namespace {

constexpr int kFailed = 1, kBadArguments = 2, kLost = 3;

void describe() {
  const int count = device_count(Device::Kind::cuda);
  const int64_t free = device_memory(Device("cuda:0")).free_bytes();
  const cuda::CudaDevice& device = cuda::cuda_device(0);
  fmt::print("{} device{}, the first: sm_{}, {} multiprocessors, {:.1f} GiB free\n", count,
             count == 1 ? "" : "s", device.architecture(), device.multiprocessors(),
             static_cast<double>(free) / (1 << 30));
}

int replay_all(const std::vector<std::string>& arguments) {
  try {
    const Replayed done = replay(arguments[1], arguments.size() > 2 ? std::stoll(arguments[2]) : 0);
    fmt::print("{} cases, {} failures, {} not run since they mix devices\n", done.cases,
               done.failures, done.mixed);
    return done.failures == 0 ? 0 : kFailed;
  } catch (const DeviceError&) {
    return kLost;
  }
}

int run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "device") return describe(), 0;
  if (command == "replay" && arguments.size() > 1) return replay_all(arguments);
  if (command == "nccl") return check_nccl() == 0 ? 0 : kFailed;
  if (command == "speed") {
    measure(arguments.size() > 1 ? arguments[1] : "",
            arguments.size() > 2 ? std::stod(arguments[2]) : 0.2);
    return 0;
  }
  fmt::print(
      stderr,
      "usage: plait_gpu_check device | replay FILE [FIRST] | nccl | speed [NAME [SECONDS]]\n");
  return kBadArguments;
}

}  // namespace
}  // namespace plait::gpu_check

int main(int count, char** arguments) {
  try {
    return plait::gpu_check::run({arguments + 1, arguments + count});
  } catch (const plait::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
