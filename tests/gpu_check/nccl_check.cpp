#include "tests/gpu_check/nccl_check.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "plait/comm/collectives.h"
#include "plait/comm/inside/nccl/nccl_library.h"
#include "plait/comm/memory_store.h"
#include "plait/comm/messages.h"
#include "plait/core/error.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::gpu_check {
namespace {

constexpr int64_t kCount = 1'000'003;

Tensor filled(dist::Group& group, double value, Sizes sizes) {
  return Tensor(Array::filled_on(group.device(), DType::f32, std::move(sizes), Element::of(value)));
}

bool is_filled(const Tensor& x, double value) {
  const Array array = x.array().on_host().contiguous();
  const auto elements = array.elements<float>();
  return std::ranges::all_of(elements, [&](float each) { return each == value; });
}

// The names of the calls whose results are wrong.
std::vector<std::string> wrong_calls(dist::Group& group) {
  const int rank = group.rank(), size = group.size();
  const Tensor own = filled(group, rank + 1, {kCount});
  std::vector<std::string> wrong;
  const auto expect = [&](const char* name, const Tensor& result, double value) {
    if (!is_filled(result, value)) wrong.emplace_back(name);
  };
  const double sum = size * (size + 1) / 2.;
  for (int round = 0; round < 20; ++round) {
    expect("all_reduce", dist::all_reduce(own, dist::ReduceOp::sum, group), sum);
  }
  expect("broadcast", dist::broadcast(own, size - 1, group), size);
  expect("reduce", dist::reduce(own, 0, dist::ReduceOp::max, group), rank == 0 ? size : rank + 1);
  const Tensor rows = filled(group, 2, {size, 1000});
  expect("all_to_all", dist::all_to_all(rows, group), 2);
  expect("reduce_scatter", dist::reduce_scatter(rows, dist::ReduceOp::sum, group), 2. * size);
  expect("all_gather", dist::all_gather(filled(group, 3, {1000}), group), 3);
  const Tensor alike = filled(group, 5, {1000});
  const Tensor gathered = dist::gather(alike, 0, group);
  expect("gather", rank == 0 ? gathered : alike, 5);
  if (size == 1) return wrong;
  const auto sent = dist::async::send(own, (rank + 1) % size, group);
  const int before = (rank + size - 1) % size;
  expect("recv", dist::recv(own, before, group).tensor, before + 1);
  sent->wait();
  return wrong;
}

}  // namespace

int check_nccl() {
  int version = 0;
  try {
    dist::NcclLibrary::get().get_version(&version);
  } catch (const DeviceError& error) {
    fmt::print("NCCL is not there: {}\n", error.message());
    return 0;
  }
  const int size = device_count(Device::Kind::cuda);
  const auto store = std::make_shared<dist::MemoryStore>();
  std::atomic<int> failures = 0;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        const auto group = dist::Group::join({.store = store,
                                              .rank = rank,
                                              .size = size,
                                              .engine = "nccl",
                                              .timeout = dist::Duration(30'000)});
        for (const std::string& name : wrong_calls(*group)) {
          fmt::print("rank {}: {} is wrong\n", rank, name);
          ++failures;
        }
      } catch (const Error& error) {
        fmt::print("rank {}: {}\n", rank, error.what());
        ++failures;
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  fmt::print("NCCL {}, {} ranks, {} failures\n", version, size, failures.load());
  return failures.load();
}

}  // namespace plait::gpu_check
