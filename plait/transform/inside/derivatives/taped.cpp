#include "plait/transform/inside/derivatives/taped.h"

#include <algorithm>

#include "plait/ir/structure.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/function_run.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

}  // namespace

void capture_sizes(std::span<const Tensor> wanted, std::span<const Tensor> arguments) {
  Trace& trace = *Trace::current();
  for (const Tensor& each : wanted) {
    each.type().for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim size) {
        for (const Tensor& argument : arguments) {
          if (trace.function().has_dimension(size)) return;
          const ir::Type type = argument.type();
          const Shape shape = type.is_array() ? type.shape() : Shape();
          if (std::ranges::find_if(shape, is_same_as(size)) != shape.end()) trace.capture(argument);
        }
      });
    });
  }
}

Tensors all_cotangents(const ir::Function& function, std::span<const Tensor> operands,
                       std::span<const Tensor> given) {
  const SymbolMap<Dim> sizes = sizes_for(function, ir_types_of(operands));
  const std::vector<ir::Type>& results = function.signature().results;
  Tensors all;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!ir::has_tangent(results[i])) continue;
    all.push_back(given[i] ? given[i] : zeros_of(OperandType(results[i].substitute(sizes))));
  }
  return all;
}

Taped record_taped(const TensorFunction& function, std::span<const Tensor> arguments,
                   const std::vector<bool>& wanted) {
  Taped taped;
  Pullback pullback;
  Tensors begun(arguments.begin(), arguments.end());
  for (size_t i = 0; i < begun.size(); ++i) {
    if (wanted[i]) begun[i] = pullback.begin(begun[i]);
  }
  for (const Tensor& result : function(begun)) taped.results.push_back(pullback.finish(result));
  pullback.close();
  const std::vector<bool> inexact = control::which_are_inexact(taped.results);
  const auto back = [&](std::span<const Tensor> cotangents) {
    capture_sizes(control::chosen(arguments, wanted), arguments);
    return present_of(pullback(spread(cotangents, inexact), false));
  };
  const std::vector<Tensor> differentiable = control::chosen(taped.results, inexact);
  taped.backward = stage("backward", ir_types_of(differentiable), back, {.beside = differentiable});
  return taped;
}

std::vector<Dim> sizes_besides(std::span<const ir::Type> types, std::span<const Dim> known) {
  std::vector<Dim> others;
  for (const ir::Type& type : types) {
    type.for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim size) {
        if (std::ranges::find_if(known, is_same_as(size)) != known.end()) return;
        if (std::ranges::find_if(others, is_same_as(size)) == others.end()) others.push_back(size);
      });
    });
  }
  return others;
}

bool is_followed_in_reverse(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) {
    return tensor.derivation() && tensor.derivation()->origin &&
           !tensor.derivation()->origin.levels.still_open().empty();
  });
}

}  // namespace plait
