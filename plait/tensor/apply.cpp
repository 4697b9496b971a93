#include "plait/tensor/apply.h"

#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <optional>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/ir/inference.h"
#include "plait/tensor/autocast_policy.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/inside/fits.h"
#include "plait/tensor/inside/kernel_anomaly.h"
#include "plait/tensor/inside/memory/layout_extent.h"
#include "plait/tensor/inside/row_recorder.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait {
namespace {

const ir::Declarations& no_declarations() {
  static const ir::Declarations declarations;
  return declarations;
}

// Runs the type rule on concrete operands. Data-dependent sizes are -1.
std::vector<ArrayType> infer(const ir::Primitive& primitive, std::span<const Array> operands,
                             const ir::Attributes& attributes) {
  static const ir::Mesh no_axes;
  std::vector<ir::Type> types;
  types.reserve(operands.size());
  for (const Array& operand : operands) {
    types.push_back(ir::Type::array(operand.dtype(), Shape::of_sizes(operand.sizes())));
  }
  int count = 0;
  ir::Inference inference{.primitive = primitive,
                          .operands = types,
                          .attributes = attributes,
                          .callees = {},
                          .size_arguments = {},
                          .stated = {},
                          .declarations = no_declarations(),
                          .axes = no_axes,
                          .name_size = [&](std::string_view hint) {
                            return Dim::symbol(fmt::format("{}.{}", hint, count++));
                          }};
  inference.run();
  std::vector<ArrayType> results;
  for (const ir::Type& type : inference.results) {
    ArrayType& result = results.emplace_back(ArrayType{type.dtype(), Sizes(type.shape().rank())});
    for (size_t i = 0; i < result.sizes.size(); ++i) {
      const Dim dim = type.shape()[i];
      result.sizes[i] = dim.is_number() ? dim.number() : -1;
    }
  }
  return results;
}

// A cache of type rule results: loops repeat the same calls, and the rule takes longer than a small
// kernel.
class InferredTypes {
 public:
  using Types = std::shared_ptr<const std::vector<ArrayType>>;

  Types of(const ir::Primitive& primitive, std::span<const Array> operands,
           const ir::Attributes& attributes) {
    Entry& entry = entries_[place_of(primitive, operands)];
    if (!entry.answers(primitive, operands, attributes)) {
      auto types =
          std::make_shared<const std::vector<ArrayType>>(infer(primitive, operands, attributes));
      entry = {.primitive = &primitive, .attributes = attributes, .types = std::move(types)};
      for (const Array& operand : operands) {
        entry.operands.push_back({operand.dtype(), operand.sizes()});
      }
    }
    return entry.types;
  }

 private:
  struct Entry {
    const ir::Primitive* primitive = nullptr;
    std::vector<ArrayType> operands = {};
    ir::Attributes attributes = {};
    Types types = {};

    bool answers(const ir::Primitive& asked, std::span<const Array> arrays,
                 const ir::Attributes& with) const {
      const auto is_of = [](const ArrayType& type, const Array& array) {
        return type.dtype == array.dtype() && type.sizes == array.sizes();
      };
      return primitive == &asked && std::ranges::equal(operands, arrays, is_of) &&
             attributes == with;
    }
  };

  static size_t place_of(const ir::Primitive& primitive, std::span<const Array> operands) {
    uint64_t hash = primitive.number;
    for (const Array& operand : operands) {
      hash = hash_combine(hash, static_cast<uint64_t>(operand.dtype()));
      for (const int64_t size : operand.sizes()) {
        hash = hash_combine(hash, static_cast<uint64_t>(size));
      }
    }
    return hash % kEntries;
  }

  static constexpr size_t kEntries = 128;
  std::array<Entry, kEntries> entries_;
};
thread_local InferredTypes inferred_types;

// True if an elementwise operation needs no type rule: all operands have one dtype and equal sizes.
bool have_same_type(const ir::Primitive& primitive, std::span<const Array> operands) {
  if (primitive.elementwise == ir::Elementwise::no) return false;
  const Array& first = operands[0];
  if (!primitive.takes.contains(first.dtype())) return false;
  for (const Array& operand : operands.subspan(1)) {
    if (operand.dtype() != first.dtype() || operand.sizes() != first.sizes()) return false;
  }
  return true;
}

void check_count(const ir::Primitive& primitive, size_t operands) {
  if (primitive.operands.holds(operands)) return;
  throw TypeError("{}: takes {} operands, {} given", primitive.name, primitive.operands.least,
                  operands);
}

// Adds a run to the RowRecorder of the thread, if there are any.
class RecordedRun {
 public:
  RecordedRun(const Kernel& kernel, std::span<const Array> operands)
      : notes_(RowRecorder::current()), kernel_(kernel) {
    if (notes_ != nullptr) operands_.assign(operands.begin(), operands.end());
  }
  void gave(std::span<const Array> results) {
    if (notes_ != nullptr) notes_->add(kernel_, operands_, results);
  }

 private:
  RowRecorder* notes_;
  const Kernel& kernel_;
  std::vector<Array> operands_;  // also prevents that they are overwritten
};

// The results, if the operation belongs on another device than the CPU. Moves the operands to where
// they meet.
[[gnu::noinline]] std::optional<std::vector<Array>> run_elsewhere(
    const ir::Primitive& primitive, std::span<Array> operands, const ir::Attributes& attributes) {
  const Device device = meet(primitive, operands, default_device());
  if (device.is_cpu()) return std::nullopt;
  const InferredTypes::Types types = inferred_types.of(primitive, operands, attributes);
  std::vector<Array> results(types->size());
  KernelCall call{primitive, operands, attributes, *types, results, device};
  run_on_device(call);
  return results;
}

// Calls `use` with the results.
template <class Use>
auto run_now(const ir::Primitive& primitive, std::span<Array> operands, const ir::Attributes& given,
             Use use) {
  check_count(primitive, operands.size());
  ir::Attributes defaults;
  const bool takes_defaults = !given && primitive.attributes != nullptr;
  if (takes_defaults) defaults = ir::Attributes::defaults(primitive.attributes);
  const ir::Attributes& attributes = takes_defaults ? defaults : given;
  const bool is_unplaced = gives_unplaced(primitive, operands, attributes);
  if (!is_host_call(operands)) [[unlikely]] {
    if (auto results = run_elsewhere(primitive, operands, attributes)) {
      set_unplaced(*results, is_unplaced);
      return use(std::span<Array>(*results));
    }
  }
  const Kernel& kernel = kernel_of(primitive);
  RecordedRun run(kernel, operands);
  if (have_same_type(primitive, operands)) {
    const ArrayType type{elementwise_result(primitive.elementwise, operands[0].dtype()),
                         operands[0].sizes()};
    std::array<Array, 1> result;
    KernelCall call{primitive, operands, attributes, {&type, 1}, result};
    run_kernel(kernel, call);
    run.gave(result);
    result[0].set_unplaced(is_unplaced);
    return use(std::span<Array>(result));
  }
  InferredTypes::Types types;
  if (!kernel.finds_types) types = inferred_types.of(primitive, operands, attributes);
  std::vector<Array> results(types ? types->size() : 1);
  const std::span<const ArrayType> known = types ? std::span(*types) : std::span<const ArrayType>();
  KernelCall call{primitive, operands, attributes, known, results};
  run_kernel(kernel, call);
  run.gave(results);
  set_unplaced(results, is_unplaced);
  return use(std::span<Array>(results));
}

std::vector<Array> arrays_of(std::span<const Tensor> tensors) {
  std::vector<Array> arrays;
  arrays.reserve(tensors.size());
  for (const Tensor& tensor : tensors) arrays.push_back(tensor.array());
  return arrays;
}

// Operands of a row operation: of one dtype, with the sizes of the first one, contiguous or
// broadcast from one element (as full and zeros make them).
class Rows {
 public:
  static constexpr size_t kMost = 3;

  explicit Rows(DType dtype) : dtype_(dtype) {}

  bool add(const Array& array, DType dtype) {
    if (first_ == nullptr) first_ = &array;
    if (!array.is_on_host() || array.dtype() != dtype || array.sizes() != first_->sizes())
      return false;
    are_unplaced_ = are_unplaced_ && array.is_unplaced();
    const bool repeats = repeats_one_element(array.layout());
    if (!repeats && !array.is_contiguous()) return false;
    data_[count_] = array.device_data();
    sizes_[count_] = array.element_size();
    steps_[count_++] = repeats ? 0 : array.element_size();
    return true;
  }

  void add(const Element& number) {
    std::byte* place = numbers_.data() + count_ * kLargestElement;
    store_element(dtype_, number, place);
    data_[count_] = place;
    sizes_[count_] = size_of(dtype_);
    steps_[count_++] = 0;
  }

  const Array* first() const { return first_; }
  bool are_unplaced() const { return are_unplaced_; }
  std::span<const int64_t> sizes() const { return std::span(sizes_).first(count_); }
  RowCall call(Array& result) const {
    return {.dtype = dtype_,
            .result = result.dtype(),
            .out = result.writable_data(),
            .out_step = result.element_size(),
            .operands = std::span(data_).first(count_),
            .steps = std::span(steps_).first(count_),
            .count = result.element_count()};
  }

 private:
  static constexpr size_t kLargestElement = sizeof(std::complex<double>);

  DType dtype_;
  const Array* first_ = nullptr;
  bool are_unplaced_ = true;
  size_t count_ = 0;
  std::array<const std::byte*, kMost> data_;
  std::array<int64_t, kMost> steps_, sizes_;  // in bytes
  alignas(kLargestElement) std::array<std::byte, kMost * kLargestElement> numbers_;
};

bool has_derivation(std::span<const Tensor> operands) {
  for (const Tensor& operand : operands) {
    if (operand.derivation()) return true;
  }
  return false;
}

}  // namespace

std::vector<Tensor> apply_all(const ir::Primitive& primitive, std::span<const Tensor> given,
                              const ir::Attributes& attributes) {
  std::vector<Tensor> cast;
  if (const AutocastScope* scope = AutocastScope::current()) {
    cast = scope->operands_for(primitive, given);
  }
  if (has_open_axes()) {
    cast = agreeing(primitive, cast.empty() ? given : cast, attributes);
  }
  const std::span<const Tensor> operands = cast.empty() ? given : cast;
  return has_derivation(operands) ? apply_differentiated(primitive, operands, attributes)
                                  : apply_undifferentiated(primitive, operands, attributes);
}

std::vector<Tensor> apply_undifferentiated(const ir::Primitive& primitive,
                                           std::span<const Tensor> operands,
                                           const ir::Attributes& attributes) {
  if (Trace* trace = Trace::current()) {
    return trace->record({.primitive = primitive, .operands = operands, .attributes = attributes});
  }
  std::vector<Array> arrays = arrays_of(operands);
  return run_now(primitive, arrays, attributes, [](std::span<Array> results) {
    std::vector<Tensor> tensors;
    for (Array& result : results) tensors.push_back(Tensor(std::move(result)));
    return tensors;
  });
}

Tensor apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
             const ir::Attributes& attributes) {
  constexpr size_t kMostInPlace = 4;
  const bool runs_now = Trace::current() == nullptr && AutocastScope::current() == nullptr;
  if (!runs_now || operands.size() > kMostInPlace || has_derivation(operands)) {
    return apply_all(primitive, operands, attributes).at(0);
  }
  std::array<Array, kMostInPlace> arrays;
  for (size_t i = 0; i < operands.size(); ++i) arrays[i] = operands[i].array();
  return run_now(primitive, std::span(arrays).first(operands.size()), attributes,
                 [](std::span<Array> results) { return Tensor(std::move(results[0])); });
}

Tensor apply_to_rows(const ir::Primitive& primitive, DType dtype,
                     std::span<const RowOperand> operands, std::optional<DType> first) {
  const bool runs_now = Trace::current() == nullptr && AutocastScope::current() == nullptr;
  if (!runs_now || detects_anomaly() || !primitive.takes.contains(dtype)) return {};
  const Kernel& kernel = kernel_of(primitive);
  if (kernel.run_row == nullptr || operands.size() > Rows::kMost) return {};
  Rows rows(dtype);
  for (const RowOperand& operand : operands) {
    const DType wanted = &operand == operands.data() ? first.value_or(dtype) : dtype;
    if (operand.tensor == nullptr) {
      if (!fits(*operand.number, wanted)) return {};
      rows.add(operand.number->element());
    } else if (operand.tensor->derivation() || !rows.add(operand.tensor->array(), wanted)) {
      return {};
    }
  }
  if (rows.first() == nullptr) return {};
  const DType given = elementwise_result(primitive.elementwise, dtype);
  Array result = Array::empty(given, rows.first()->sizes());
  result.set_unplaced(rows.are_unplaced());
  const RowCall call = rows.call(result);
  if (!kernel.run_row(call, kernel.data)) return {};
  if (RowRecorder* notes = RowRecorder::current()) notes->add(kernel, call, rows.sizes(), result);
  return Tensor(std::move(result));
}

Tensor apply_donating(const ir::Primitive& primitive, std::vector<Tensor> operands, Tensor& x,
                      size_t place, const ir::Attributes& attributes) {
  operands[place] = x;
  const bool runs_now = Trace::current() == nullptr && AutocastScope::current() == nullptr;
  if (!runs_now || has_derivation(operands)) {
    return apply(primitive, operands, attributes);
  }
  std::vector<Array> arrays = arrays_of(operands);
  // From here on the array is in `arrays` only, if x was its only owner.
  operands[place] = Tensor();
  arrays[place] = Array();
  arrays[place] = std::move(x).take_array();
  try {
    Tensor result = run_now(primitive, arrays, attributes,
                            [](std::span<Array> results) { return Tensor(std::move(results[0])); });
    x = Tensor();
    return result;
  } catch (...) {
    x = Tensor(std::move(arrays[place]));
    throw;
  }
}

Tensor scalar_tensor(const Scalar& value, DType dtype) {
  if (Trace* trace = Trace::current()) {
    if (value.is_symbolic()) return trace->size(value.size(), dtype);
    Array array = Array::filled(dtype, {}, value.element());
    return trace->constant(array.literal());
  }
  return Tensor(Array::filled(dtype, {}, value.element()));
}

}  // namespace plait
