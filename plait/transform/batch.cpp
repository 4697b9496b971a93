#include "plait/transform/batch.h"

#include <algorithm>

#include "plait/ir/printer.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/random.h"
#include "plait/ops/reduce.h"
#include "plait/ops/shape.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/derivation.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/trace.h"
#include "plait/transform/function_run.h"
#include "plait/transform/run_instruction.h"
#include "plait/transform/staged_custom.h"
#include "plait/transform/staged_remat.h"
#include "plait/transform/tensor_lists.h"

namespace plait {
namespace {

Shape without_first(const Shape& shape) { return Shape(shape.dims().subspan(1)); }

Shape with_first(Dim first, const Shape& shape) {
  Shape all{first};
  for (const Dim dim : shape) all.append(dim);
  return all;
}

std::vector<LaneValue> values_of(std::span<const Tensor> tensors, bool are_batched) {
  std::vector<LaneValue> values;
  for (const Tensor& tensor : tensors) values.push_back({tensor, are_batched});
  return values;
}

std::vector<Tensor> tensors_in(std::span<const LaneValue> values) {
  std::vector<Tensor> tensors;
  for (const LaneValue& value : values) tensors.push_back(value.tensor);
  return tensors;
}

std::vector<bool> flags_of(std::span<const LaneValue> values) {
  std::vector<bool> flags;
  for (const LaneValue& value : values) flags.push_back(value.is_batched);
  return flags;
}

class BatchedRun final : public FunctionRun<LaneValue> {
 public:
  BatchedRun(const ir::Program& program, Dim lanes) : FunctionRun(program), lanes_(lanes) {}

 private:
  using Values = std::vector<LaneValue>;
  using Operands = std::span<const LaneValue>;

  ir::Type type_of(const LaneValue& value) const override {
    const ir::Type type = value.tensor.type();
    return value.is_batched ? type.without_sharding().with_shape(without_first(type.shape()))
                            : type;
  }

  Values run(const ir::Instruction& instruction, Operands operands,
             const SymbolMap<Dim>& sizes) override {
    const bool any = std::ranges::any_of(operands, &LaneValue::is_batched);
    switch (instruction.primitive().structure) {
      case ir::Structure::machine:
        if (instruction.primitive().name == "draw_key") return {draw()};
        if (any) return values_of(apply(instruction, operands, sizes), true);
        break;
      case ir::Structure::refine:
        if (any) return {refined(instruction, operands[0], sizes)};
        break;
      case ir::Structure::call: return function(callee(instruction), operands);
      case ir::Structure::remat: return rematted(instruction, operands);
      case ir::Structure::custom_vjp:
      case ir::Structure::custom_jvp: return custom(instruction, operands);
      case ir::Structure::literal:
      case ir::Structure::size: break;
      default:
        throw TypeError("{} has no way to be batched yet", ir::print(instruction))
            .at(instruction.location());
    }
    return values_of(run_instruction(instruction, tensors_in(operands), sizes), false);
  }

  std::vector<Tensor> apply(const ir::Instruction& instruction, Operands operands,
                            const SymbolMap<Dim>& sizes) {
    const ir::Primitive& primitive = instruction.primitive();
    const ir::Attributes attributes = instruction.attributes().map_sizes(
        [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); });
    const Rules* const rules = find_rules(primitive);
    if (rules != nullptr && rules->batching.of != nullptr) {
      return rules->batching.of(attributes, tensors_in(operands), flags_of(operands));
    }
    if (primitive.elementwise == ir::Elementwise::no) {
      throw TypeError("{} has no way to be batched", primitive.name).at(instruction.location());
    }
    std::vector<Tensor> all;
    for (const LaneValue& operand : operands) all.push_back(of_all_lanes(operand, lanes_));
    return apply_all(primitive, all, attributes);
  }

  // Each lane draws its own.
  LaneValue draw() const { return {random::fold_in(random::draw_key(), iota(lanes_)), true}; }

  LaneValue refined(const ir::Instruction& instruction, const LaneValue& operand,
                    const SymbolMap<Dim>& sizes) const {
    const Shape shape = instruction.result_types()[0].substitute(sizes).shape();
    Trace* const trace = Trace::current();
    if (trace == nullptr) return operand;
    return {trace->refine(operand.tensor, with_first(lanes_, shape)), true};
  }

  // The callee as a function of tensors; all that it gives is batched.
  TensorFunction for_all_lanes(const ir::Function& called, std::vector<bool> batched) const {
    return [program = program(), &called, lanes = lanes_,
            batched = std::move(batched)](std::span<const Tensor> given) {
      Values operands;
      for (size_t i = 0; i < given.size(); ++i) operands.push_back({given[i], batched[i]});
      std::vector<Tensor> results;
      for (const LaneValue& result : run_batched(program, called, operands, lanes)) {
        results.push_back(of_all_lanes(result, lanes));
      }
      return results;
    };
  }

  Values rematted(const ir::Instruction& instruction, Operands operands) const {
    const TensorFunction called = for_all_lanes(callee(instruction), flags_of(operands));
    return values_of(
        remat_tensors(called, tensors_in(operands), instruction.attributes_as<RematPolicy>()),
        true);
  }

  // Its rule is that of one lane, done for all of them.
  Values custom(const ir::Instruction& instruction, Operands operands) {
    const std::vector<Tensor> tensors = tensors_in(operands);
    if (!is_followed(tensors) && Trace::current() == nullptr) {
      return function(callee(instruction), operands);
    }
    const std::vector<bool> batched = flags_of(operands);
    const std::vector<ir::Type> types = ir_types_of(tensors);
    const auto staged = [&](size_t i, std::span<const ir::Type> parameters,
                            const TensorFunction& called) {
      return stage(callee(instruction, i).name(), parameters, called);
    };
    const StagedFunction forward_of_all =
        staged(0, types, for_all_lanes(callee(instruction), batched));
    if (instruction.primitive().structure == ir::Structure::custom_jvp) {
      std::vector<bool> with_tangents = batched;
      std::vector<ir::Type> taken = types;
      for (size_t i = 0; i < types.size(); ++i) {
        if (!is_inexact(types[i].dtype())) continue;
        with_tangents.push_back(batched[i]);
        taken.push_back(types[i]);
      }
      const StagedFunction rule =
          staged(1, taken, for_all_lanes(callee(instruction, 1), with_tangents));
      return values_of(run_custom_jvp(forward_of_all, rule, tensors), true);
    }
    const StagedFunction forward = staged(1, types, for_all_lanes(callee(instruction, 1), batched));
    const auto& given = forward.function->signature().results;
    const size_t count = forward_of_all.function->signature().results.size();
    std::vector<ir::Type> sent(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
    for (size_t i = 0; i < count; ++i) {
      if (is_inexact(given[i].dtype())) sent.push_back(given[i]);
    }
    const TensorFunction back =
        for_all_lanes(callee(instruction, 2), std::vector<bool>(sent.size(), true));
    const StagedFunction backward = staged(2, sent, [&](std::span<const Tensor> cotangents) {
      std::vector<Tensor> found = back(cotangents);
      for (size_t i = 0, next = 0; i < types.size(); ++i) {
        if (!is_inexact(types[i].dtype())) continue;
        // What all lanes share gets what comes of all of them.
        if (!batched[i]) found[next] = sum(found[next], 0);
        ++next;
      }
      return found;
    });
    return values_of(run_custom_vjp(forward_of_all, forward, backward, tensors), true);
  }

  const Dim lanes_;
};

}  // namespace

Tensor of_all_lanes(const LaneValue& value, Dim lanes) {
  if (value.is_batched) return value.tensor;
  return broadcast_to(value.tensor, with_first(lanes, value.tensor.shape()));
}

std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, Dim lanes) {
  return BatchedRun(program, lanes).function(function, arguments);
}

}  // namespace plait
