#include "plait/transform/vmap.h"

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/inside/along.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"
#include "plait/transform/inside/forms/staged.h"
#include "plait/transform/inside/leaf_options.h"
#include "plait/transform/programs.h"

namespace plait::vmaps {
namespace {

// Returns the axis counted from the front; IndexError if it is out of range.
size_t place_of(const Tensor& tensor, int64_t axis, int64_t rank, std::string_view what) {
  if (axis >= -rank && axis < rank) return static_cast<size_t>(axis < 0 ? axis + rank : axis);
  throw IndexError("vmap: axis {} is out of range for {}, a {}", axis, what, tensor.type().text())
      .at(Location::of_caller());
}

Dim samples_of(std::span<const Tensor> arguments, std::span<const BatchAxis> in,
               const std::optional<Dim>& size) {
  std::optional<Dim> samples = size;
  if (samples && samples->is_number() && samples->number() < 0) {
    throw ValueError("vmap: a size of {}, expected 0 or more", samples->number())
        .at(Location::of_caller());
  }
  std::string first = "the given size";
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!in[i]) continue;
    const std::string what = fmt::format("argument {}", i);
    const auto rank = static_cast<int64_t>(arguments[i].rank());
    const Dim here = arguments[i].shape()[place_of(arguments[i], *in[i], rank, what)];
    if (!samples) {
      samples = here;
      first = what;
    }
    if (same(*samples, here)) continue;
    if (!differ(*samples, here) && sizes_hold({*samples, SizeFact::equal, here})) continue;
    throw ShapeError("vmap: {} has {} samples, but {}, {}, has {}", first, samples->text(), what,
                     arguments[i].type().text(), here.text())
        .at(Location::of_caller());
  }
  if (samples) return *samples;
  throw ValueError("vmap: the number of samples is unknown: no argument has a mapped axis")
      .at(Location::of_caller())
      .hint("pass it in the options: size");
}

}  // namespace

std::vector<BatchAxis> axes_of_leaves(std::string_view what, const std::vector<BatchAxis>& given,
                                      const std::vector<size_t>& leaves) {
  return options_of_leaves("vmap", "axes", what, given, leaves);
}

namespace {

Tensor places_along(Dim samples, Device device) {
  const DeviceScope there(device);
  return iota(samples);
}

// Records the function for one place along the axis. The place is its last argument.
StagedFunction stage_along(NamedAxisScope& axis, std::vector<ir::Type> types,
                           std::span<const BatchedValue> values, const TensorFunction& function) {
  register_collective_ops();
  for (size_t i = 0; i < types.size(); ++i) {
    ir::AxisSet axes = types[i].varying();
    if (values[i].is_batched) axes.insert(axis.label());
    types[i] = types[i].with_varying(axes);
  }
  const auto along = [&](std::span<const Tensor> given) {
    axis.set_index(given.back());
    return function(given.first(given.size() - 1));
  };
  StagedFunction staged = stage("vmapped", types, along, {.beside = tensors_in(values)});
  ir::refuse_divergent_collectives(staged.program);
  return staged;
}

// Runs eagerly; a recursive function is recorded first, so that it ends when its last sample does.
std::vector<BatchedValue> run_for_samples(const StagedFunction& staged,
                                          std::span<const BatchedValue> values,
                                          const Samples& samples) {
  if (Trace::current() != nullptr || !has_recursion(staged.program)) {
    return run_batched(staged.program, *staged.function, values, samples);
  }
  std::vector<bool> flags;
  const std::vector<Tensor> tensors = tensors_in(values);
  const StagedFunction batched =
      stage("vmapped", ir_types_of(tensors),
            [&](auto given) {
              std::vector<BatchedValue> all(values.begin(), values.end());
              for (size_t i = 0; i < given.size(); ++i) all[i].tensor = given[i];
              const std::vector<BatchedValue> results =
                  run_batched(staged.program, *staged.function, all, samples);
              flags = flags_of(results);
              return tensors_in(results);
            },
            {.beside = tensors});
  std::vector<BatchedValue> found;
  for (const Tensor& result : plait::run(batched.program, joined({tensors, batched.captures}))) {
    found.push_back({result, flags[found.size()]});
  }
  return found;
}

}  // namespace

std::vector<Tensor> run(const TensorFunction& function, std::span<const Tensor> arguments,
                        std::span<const BatchAxis> in, const OutAxes& out,
                        const std::optional<Dim>& size, const std::string& name) {
  const Dim samples = samples_of(arguments, in, size);
  std::vector<BatchedValue> values;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool is_batched = in[i].has_value();
    const Tensor tensor = is_batched ? moveaxis(arguments[i], *in[i], 0) : arguments[i];
    const ir::Type type = tensor.type();
    values.push_back({tensor, is_batched});
    types.push_back(is_batched
                        ? type.without_sharding().with_shape(Shape(type.shape().dims().subspan(1)))
                        : type);
  }
  std::string label;
  const StagedFunction staged = [&] {
    if (name.empty()) return stage("vmapped", types, function, {.beside = arguments});
    NamedAxisScope axis(name, samples);
    label = axis.label();
    values.push_back({places_along(samples, device_of(arguments)), true});
    types.push_back(ir::Type::scalar(DType::i64));
    return stage_along(axis, types, values, function);
  }();
  for (const Tensor& capture : staged.captures) values.push_back({capture, false});
  const std::vector<BatchedValue> found = run_for_samples(staged, values, {samples, label});
  const std::vector<BatchAxis> axes = out(found.size());
  std::vector<Tensor> results;
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string what = fmt::format("result {}", i);
    if (!axes[i]) {
      if (found[i].is_batched) {
        throw ValueError("vmap: {} differs from sample to sample, so it needs an axis", what)
            .at(Location::of_caller());
      }
      results.push_back(found[i].tensor);
      continue;
    }
    const Tensor all = of_all_samples(found[i], samples);
    const auto place = place_of(all, *axes[i], static_cast<int64_t>(all.rank()), what);
    results.push_back(moveaxis(all, 0, static_cast<int64_t>(place)));
  }
  return results;
}

std::vector<Tensor> run(LeafFunction function, std::span<const Tensor> leaves,
                        const std::vector<size_t>& leaves_of_arguments,
                        const VmapOptions& options) {
  const auto out = [&](size_t count) {
    return axes_of_leaves("out", options.out, std::vector<size_t>(count, 1));
  };
  return run([&](auto given) { return function(given); }, leaves,
             axes_of_leaves("in", options.in, leaves_of_arguments), out, options.size,
             options.name);
}

}  // namespace plait::vmaps
