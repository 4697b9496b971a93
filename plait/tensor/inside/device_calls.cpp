#include "plait/tensor/inside/device_calls.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/log.h"
#include "plait/tensor/inside/kernel_anomaly.h"
#include "plait/tensor/inside/memory/layout_extent.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait {
namespace {

struct HostCallCounts {
  std::mutex mutex;
  std::map<const ir::Primitive*, int64_t> counts;
};
HostCallCounts& host_call_counts() {
  static Immortal<HostCallCounts> counts;
  return *counts;
}

void count_host_call(const KernelCall& call) {
  HostCallCounts& calls = host_call_counts();
  const std::lock_guard lock(calls.mutex);
  if (calls.counts[&call.primitive]++ > 0) return;
  log(LogArea::tensor, LogLevel::warning,
      "{} has no kernel for {}: the host computes it, on copies of its operands",
      call.primitive.name, text_of(call.device));
}

bool meets_any_device(const Array& operand) {
  return operand.dtype() == DType::key ||
         (operand.is_on_host() && repeats_one_element(operand.layout()));
}

[[noreturn]] void refuse_mixture(const ir::Primitive& primitive, Device device,
                                 const Array& other) {
  const std::string there = text_of(other.device());
  throw DeviceError("{}: one operand is on {}, another one, {}{}, on {}", primitive.name,
                    text_of(device), name_of(other.dtype()), text_of_sizes(other.sizes()), there)
      .hint(
          fmt::format("move one of them: x.to(\"{}\")", there == "cpu" ? text_of(device) : there));
}

}  // namespace

Device device_of_call(const ir::Primitive& primitive, std::span<const Array> operands,
                      Device otherwise) {
  const Array* first = nullptr;
  bool has_arrays = false;
  for (const Array& operand : operands) {
    if (!operand || operand.dtype() == DType::key) continue;
    has_arrays = true;
    if (first == nullptr && !operand.is_on_host()) first = &operand;
  }
  if (!has_arrays) return otherwise;
  if (first == nullptr) return {};
  for (const Array& operand : operands) {
    if (!operand || operand.device() == first->device() || meets_any_device(operand)) continue;
    refuse_mixture(primitive, first->device(), operand);
  }
  return first->device();
}

namespace {

bool gives_keys(const KernelCall& call) {  // keys are on the host
  return std::ranges::any_of(call.types,
                             [](const ArrayType& type) { return type.dtype == DType::key; });
}

}  // namespace

void run_on_device(KernelCall& call) {
  const Kernel* kernel = find_device_kernel(call.primitive, call.device.kind);
  if (kernel == nullptr) {  // also before the device is first used, as by a call without operands
    load_device_kernels(call.device.kind);
    kernel = find_device_kernel(call.primitive, call.device.kind);
  }
  if (kernel == nullptr || gives_keys(call)) return run_on_host(call);
  run_kernel(*kernel, call);
}

void run_on_host(KernelCall& call) {
  if (!gives_keys(call)) count_host_call(call);
  std::vector<Array> operands;
  operands.reserve(call.operands.size());
  for (const Array& operand : call.operands) {
    operands.push_back(operand ? operand.on_host() : operand);
  }
  std::vector<Array> results(call.results.size());
  KernelCall on_host{call.primitive, operands, call.attributes, call.types, results};
  run_kernel(kernel_of(call.primitive), on_host);
  for (size_t i = 0; i < results.size(); ++i) {
    const bool is_key = results[i].dtype() == DType::key;
    call.results[i] = is_key ? std::move(results[i]) : results[i].on(call.device);
  }
}

std::vector<HostCalls> host_calls() {
  HostCallCounts& calls = host_call_counts();
  const std::lock_guard lock(calls.mutex);
  std::vector<HostCalls> list;
  for (const auto& [primitive, count] : calls.counts) list.push_back({primitive, count});
  return list;
}

}  // namespace plait
