#include "plait/cuda/inside/reductions/device_reduce.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/elementwise/eager_nest.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/inside/device_calls.h"

namespace plait::cuda {
namespace {

using compile::Nest;
using compile::NestResult;
using compile::NestValue;

constexpr size_t kFrom = 0, kTo = 1;  // the ports: x, then the result
constexpr int64_t kManyRows = 512;    // rows that keep a device busy, each in one block
constexpr int64_t kLongRow = 16384;   // elements of a row that are worth several blocks

bool is_widened(DType dtype) { return is_floating(dtype) && size_of(dtype) < 4; }

int64_t distance(const LoopDimension& dimension) {
  const int64_t stride = std::abs(dimension.strides[kFrom]);
  return stride == 0 ? std::numeric_limits<int64_t>::max() : stride;
}

void sort_by_distance(std::vector<LoopDimension>& dimensions) {
  std::ranges::stable_sort(dimensions, std::ranges::greater(), distance);
}

int64_t count_of(std::span<const LoopDimension> dimensions) {
  int64_t count = 1;
  for (const LoopDimension& dimension : dimensions) count *= dimension.size;
  return count;
}

// How the loops are arranged.
enum class Form : uint8_t {
  pointwise,  // nothing is reduced
  along,      // each row to one number: the columns are reduced
  whole,      // the columns, and rows of a group, to one number
  over,       // rows of a group: the columns are kept
};

class Reduction {
 public:
  Reduction(const DeviceReduction& how, const Array& x, std::span<const int64_t> axes,
            const Array& result)
      : how_(how), x_(x), result_(result) {
    find_dimensions(axes);
    arrange();
  }

  void run() const {
    const NestPattern pattern(loops_);
    const NestKernel& kernel = eager_kernel(key(pattern), [&] { return make(pattern); });
    const NestParameter from{.address = address_of(x_)};
    const Address to = address_of(result_);
    kernel.run(cuda_device(x_.device().index), pattern.values(kernel.sizes()), {&from, 1},
               {&to, 1});
  }

 private:
  void find_dimensions(std::span<const int64_t> axes) {
    Layout to{x_.sizes(), Sizes(x_.rank(), 0)};
    size_t next = result_.rank();
    for (size_t axis = x_.rank(); axis-- > 0;) {
      if (std::ranges::binary_search(axes, static_cast<int64_t>(axis))) continue;
      to.strides[axis] = result_.layout().strides[--next];
    }
    const Layout* both[] = {&x_.layout(), &to};
    const JointLayout joint(both);
    for (size_t d = 0; d < joint.sizes.size(); ++d) {
      LoopDimension dimension{joint.sizes[d], {joint.strides[kFrom][d], joint.strides[kTo][d]}};
      (dimension.strides[kTo] == 0 ? reduced_ : kept_).push_back(std::move(dimension));
    }
    sort_by_distance(kept_);
    sort_by_distance(reduced_);
  }

  // Columns are neighbours in memory. A function of sizes and strides only.
  void arrange() {
    loops_ = kept_;
    grouped_ = kept_.size();
    if (reduced_.empty()) {
      form_ = Form::pointwise;
    } else if (kept_.empty() || distance(reduced_.back()) < distance(kept_.back())) {
      const bool is_split =
          kept_.empty() || (reduced_.back().size > kLongRow && count_of(kept_) < kManyRows);
      form_ = reduced_.size() > 1 || is_split ? Form::whole : Form::along;
      loops_.insert(loops_.end(), reduced_.begin(), reduced_.end());
    } else {
      form_ = Form::over;
      --grouped_;
      loops_.insert(loops_.end() - 1, reduced_.begin(), reduced_.end());
    }
  }

  std::string key(const NestPattern& pattern) const {
    return fmt::format("reduce:{}:{}:{}:{}:{}:{}{}", static_cast<int>(how_.reduction),
                       how_.of_squares, name_of(x_.dtype()), name_of(result_.dtype()),
                       static_cast<int>(form_), grouped_, pattern.key());
  }

  static uint32_t add(Nest& nest, NestValue value) {
    nest.values.push_back(std::move(value));
    return static_cast<uint32_t>(nest.values.size() - 1);
  }

  // The element of x, in the dtype in which it is accumulated. Broadcast columns count each.
  uint32_t add_element(Nest& nest, const NestPattern& pattern) const {
    nest.parameters.push_back(x_.dtype());
    DType dtype = x_.dtype();
    const auto computed = [&](const ir::Primitive& primitive, std::vector<uint32_t> operands) {
      return add(nest, {.kind = NestValue::Kind::compute,
                        .dtype = dtype,
                        .primitive = &primitive,
                        .operands = std::move(operands),
                        .has_columns = true});
    };
    uint32_t value = add(nest, {.kind = NestValue::Kind::load,
                                .dtype = dtype,
                                .place = pattern.place(kFrom),
                                .has_columns = true});
    if (is_widened(dtype)) {
      dtype = DType::f32;
      value = computed(convert_primitive(), {value});
    }
    return how_.of_squares ? computed(multiply_primitive(), {value, value}) : value;
  }

  NestKernel make(const NestPattern& pattern) const {
    Nest nest;
    nest.outer = pattern.outer();
    nest.columns = pattern.columns();
    NestResult result{.value = add_element(nest, pattern), .place = pattern.place(kTo)};
    if (form_ == Form::along) {
      result.value = add(nest, {.kind = NestValue::Kind::reduce,
                                .dtype = nest.values[result.value].dtype,
                                .operands = {result.value},
                                .reduction = how_.reduction});
    } else if (form_ != Form::pointwise) {
      result.reduction = how_.reduction;
      nest.grouped = static_cast<uint32_t>(grouped_);
    }
    nest.results.push_back(std::move(result));
    return {std::move(nest),
            {.name = fmt::format(
                 "plait_reduce_{}",
                 how_.of_squares
                     ? "squares"
                     : ir::enumerator_names(how_.reduction)[static_cast<size_t>(how_.reduction)]),
             .results = {result_.dtype()}}};
  }

  DeviceReduction how_;
  const Array& x_;
  const Array& result_;
  std::vector<LoopDimension> kept_, reduced_, loops_;
  size_t grouped_ = 0;
  Form form_ = Form::pointwise;
};

// The host refuses what is empty along an axis, and has its own result for dtypes that have no
// greatest number.
bool is_for_host(const KernelCall& call, const DeviceReduction& how) {
  const Array& x = call.operands[0];
  const auto& attributes = call.attributes.as<ReduceAttributes>();
  const bool is_extreme =
      how.reduction == ir::Reduction::maximum || how.reduction == ir::Reduction::minimum;
  if (is_key(x.dtype()) || (is_extreme && is_complex(x.dtype()))) return true;
  return x.element_count() == 0 && (is_extreme || attributes.needs_some);
}

}  // namespace

void reduce_on_device(const DeviceReduction& how, const Array& x, std::span<const int64_t> axes,
                      Array& result) {
  if (result.element_count() > 0) Reduction(how, x, axes, result).run();
}

void run_reduction(KernelCall& call, const void* data) {
  const auto& how = *static_cast<const DeviceReduction*>(data);
  if (is_for_host(call, how)) return run_on_host(call);
  Array x = call.operands[0];
  if (x.is_on_host()) x = x.on(call.device);
  reduce_on_device(how, x, call.attributes.as<ReduceAttributes>().axes, call.new_result(0));
}

}  // namespace plait::cuda
