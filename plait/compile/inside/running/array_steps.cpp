#include "plait/compile/inside/running/array_steps.h"

#include "plait/core/error.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/kernel_anomaly.h"

namespace plait::compile {
namespace {

const Array& array_of(const ir::Value& value) { return TensorMachine::array_of(value); }

void set_array(Frame& frame, Register r, Array array) {
  frame.value(r) = TensorMachine::value_of(std::move(array));
}

// A copy for each operand; one that is read for the last time loses its owner.
std::vector<Array> array_operands(Frame& frame, const Step& step) {
  std::vector<Array> given;
  given.reserve(step.operands.size());
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const ir::Value value = frame.operand(step, i);
    given.push_back(array_of(value));
  }
  return given;
}

// ---- Kernels.

// Reuses the memory of an operand that nothing else holds, if the result may overwrite it;
// else allocates.
Array own_result(const PlannedKernel& kernel, size_t result, const ArrayType& type,
                 std::span<const Array> given) {
  for (const auto& overwrite : kernel.overwrites) {
    const Array& from = given[overwrite.operand];
    if (overwrite.result != result || !from.is_writable()) continue;
    if (from.dtype() != type.dtype || from.element_count() != element_count_of(type.sizes)) {
      continue;
    }
    Layout layout = Layout::contiguous(type.sizes);
    layout.offset = from.layout().offset;
    return Array(type.dtype, std::move(layout), from.buffer());
  }
  return Array::empty(type.dtype, type.sizes);
}

std::vector<Array> results_of(Frame& frame, const Step& step, const PlannedKernel& kernel,
                              std::span<const ArrayType> types, std::span<const Array> given) {
  std::vector<Array> results;
  results.reserve(step.results.size());
  for (size_t i = 0; i < step.results.size(); ++i) {
    Array place = frame.memory.place_of(step.results[i], types[i]);
    if (!place) place = own_result(kernel, i, types[i], given);
    results.push_back(std::move(place));
  }
  return results;
}

// ---- Primitives.

// A primitive may return a view of an operand in the frame, whose memory is reused: copy it.
void settle(const FrameMemory& memory, const Array& given_place, Array& result) {
  if (given_place && given_place.data() == result.data()) return;
  if (!memory.contains(result.buffer())) return;
  Array place = given_place ? given_place : Array::empty(result.dtype(), result.sizes());
  copy_elements(result, place);
  result = std::move(place);
}

void learn_sizes(Frame& frame, const Operation& operation, std::span<const Array> results) {
  for (const Dim new_size : operation.new_sizes) {
    for (size_t r = 0; r < results.size(); ++r) {
      const Shape& shape = operation.results[r].shape();
      for (size_t i = 0; i < shape.rank(); ++i) {
        if (same(shape[i], new_size)) frame.set_size(new_size, results[r].sizes()[i]);
      }
    }
  }
}

void run_operation(Frame& frame, const Step& step, const Operation& operation, bool is_view) {
  BoundStep late;
  const BoundStep& sizes = frame.bound_sizes(operation, late);
  std::vector<Array> given = array_operands(frame, step);
  std::vector<Array> results(step.results.size()), places(step.results.size());
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = places[i] = frame.memory.place_of(step.results[i], sizes.types[i]);
  }
  KernelCall call{*operation.primitive, given, sizes.attributes, sizes.types, results};
  run_kernel(kernel_of(*operation.primitive), call);
  learn_sizes(frame, operation, results);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_view) settle(frame.memory, places[i], results[i]);
    set_array(frame, step.results[i], std::move(results[i]));
  }
}

int64_t slice_of(const Frame& frame, const ScanLoop& loop) {
  const int64_t round = frame.counters[loop.counter];
  return loop.is_reversed ? frame.number(loop.length) - 1 - round : round;
}

}  // namespace

void run_step(Frame& frame, const Step& step, const KernelStep& kind, const PlannedKernel& kernel) {
  BoundStep late;
  const BoundStep& sizes = frame.bound_sizes(kind, late);
  std::vector<Array> given = array_operands(frame, step);
  for (const uint32_t parameter : kernel.parameters) {
    if (parameter < given.size()) given[parameter] = given[parameter].contiguous();
  }
  std::vector<Array> results = results_of(frame, step, kernel, sizes.types, given);
  kernel.compiled->run(sizes.kernel, given, results);
  given.clear();
  for (size_t i = 0; i < results.size(); ++i) {
    set_array(frame, step.results[i], std::move(results[i]));
  }
}

void run_step(Frame& frame, const Step& step, const PrimitiveStep& kind) {
  run_operation(frame, step, kind.operation, false);
}

void run_step(Frame& frame, const Step& step, const ViewStep& kind) {
  run_operation(frame, step, kind.operation, true);
}

void run_step(Frame& frame, const Step& step, const BeginScanStep& kind) {
  const int64_t length = frame.number(kind.loop.length);
  if (length < 0) throw ShapeError("scan: length {} is {}", kind.loop.length.text(), length);
  frame.counters[kind.loop.counter] = 0;
  BoundStep late;
  const BoundStep& sizes = frame.bound_sizes(kind, late);
  for (size_t i = 0; i < step.results.size(); ++i) {
    Array stacked = frame.memory.place_of(step.results[i], sizes.types[i]);
    if (!stacked) stacked = Array::empty(sizes.types[i].dtype, sizes.types[i].sizes);
    set_array(frame, step.results[i], std::move(stacked));
  }
}

bool take_slices(Frame& frame, const Step& step, const ScanLoop& loop) {
  if (frame.counters[loop.counter] == frame.number(loop.length)) return false;
  for (size_t i = 0; i < step.results.size(); ++i) {
    const Array& stacked = array_of(frame.value(step.operands[i]));
    set_array(frame, step.results[i],
              stacked.view(stacked.layout().picked(0, slice_of(frame, loop))));
  }
  return true;
}

void run_step(Frame& frame, const Step& step, const PutSliceStep& kind) {
  const size_t count = step.operands.size() / 2;
  for (size_t i = 0; i < count; ++i) {
    const ir::Value value = frame.operand(step, i);
    const Array& stacked = array_of(frame.value(step.operands[count + i]));
    Array place = stacked.view(stacked.layout().picked(0, slice_of(frame, kind.loop)));
    copy_elements(array_of(value), place);
  }
  ++frame.counters[kind.loop.counter];
}

}  // namespace plait::compile
