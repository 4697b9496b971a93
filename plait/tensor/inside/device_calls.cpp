#include "plait/tensor/inside/device_calls.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "plait/core/call_in_progress.h"
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
  const bool is_first = calls.counts[&call.primitive]++ == 0;
  if (!is_first || call.primitive.effects != nullptr) return;  // effects are the host's anyway
  log(LogArea::tensor, LogLevel::warning,
      "{} has no kernel for {}: the host computes it, on copies of its operands",
      call.primitive.name, text_of(call.device));
}

// "f32[3] on cuda:0"
std::string text_of_place(const Array& array) {
  return fmt::format("{}{} on {}", name_of(array.dtype()), text_of_sizes(array.sizes()),
                     text_of(array.device()));
}

// An argument that the user gave to the function on that device, or else the operand, which may be
// broadcast.
std::string shown(const Array& operand) {
  const CallInProgress* const call = CallInProgress::outermost();
  const std::string end = " on " + text_of(operand.device());
  for (const std::string& text : call ? call->operands(true) : std::vector<std::string>()) {
    if (text.ends_with(end)) return text;
  }
  return text_of_place(operand);
}

[[noreturn]] void refuse_mixture(const ir::Primitive& primitive, const Array& first,
                                 const Array& other) {
  const Array& moving = first.is_on_host() ? first : other;
  const Array& staying = first.is_on_host() ? other : first;
  const std::string function =
      CallInProgress::outermost() == nullptr ? fmt::format("{}: ", primitive.name) : "";
  throw DeviceError("{}the operands are on different devices: {} and {}", function, shown(first),
                    shown(other))
      .hint(
          fmt::format("move the {} there: x.to(\"{}\")", shown(moving), text_of(staying.device())));
}

bool takes_part(const Array& operand) { return operand && operand.dtype() != DType::key; }

// The operand whose device decides; null if there is none.
const Array* find_home(std::span<const Array> operands) {
  const Array* home = nullptr;
  for (const Array& operand : operands) {
    if (!takes_part(operand)) continue;
    if (!operand.is_unplaced()) return &operand;
    if (home == nullptr || home->is_on_host()) home = &operand;
  }
  return home;
}

}  // namespace

Device meet(const ir::Primitive& primitive, std::span<Array> operands, Device otherwise) {
  const Array* const home = find_home(operands);
  if (home == nullptr) return otherwise;
  const Device device = home->device();
  for (Array& operand : operands) {
    if (!takes_part(operand) || operand.device() == device) continue;
    if (!operand.is_unplaced()) refuse_mixture(primitive, *home, operand);
    // Kernels of devices take a number that repeats from the host.
    const bool stays = operand.is_on_host() && repeats_one_element(operand.layout());
    if (!stays) operand = operand.on(device);
  }
  return device;
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
