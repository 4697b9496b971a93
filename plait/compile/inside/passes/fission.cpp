// Loop fission: products of few rows in each round of a scan become one product of many rows
// outside of it:
//
// - before it, those of a slice with a constant, as x[t] · W in a recurrent layer;
// - after it, those that a carry accumulates, as the gradient of W, the sum over t of
//   x[t]ᵀ · dy[t]. The scan returns the factors of all rounds instead of carrying the sum.
//
// One product of many rows reads the weights once, and a sum over all rounds is never written in
// between. The factors take memory, so this is done where they are smaller than the weights.
#include <unordered_map>
#include <utility>
#include <vector>

#include "plait/compile/inside/passes/loop_rewriter.h"
#include "plait/compile/inside/passes/scan_products.h"
#include "plait/compile/pass.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// Adds instructions on the stacks of all rounds to the caller of a scan.
class OnStacks {
 public:
  OnStacks(const ScanBody& body, ir::FunctionBuilder& builder, const ir::Copier& sizes, Dim length)
      : body_(body), builder_(builder), sizes_(sizes), length_(length) {}

  void set(ValueId of_body, ValueId stack) { stacks_[of_body] = stack; }
  void set_constant(ValueId of_body, ValueId value) { constants_[of_body] = value; }
  void set_location(Location location) { location_ = location; }

  // a[t] · b for all t, as a stack.
  ValueId product_with_constant(const Instruction& product) {
    const ValueId a = product.operands()[0], b = product.operands()[1];
    const ValueId rows = like(product, {as_rows(stack_of(a), a), constant_of(b)});
    return stack_from_rows(rows, product.result());
  }

  // The sum over t of an addend.
  ValueId sum_of(ValueId addend) {
    const auto from = body_.function().definition(addend);
    const ir::Primitive& primitive = from->primitive();
    if (&primitive == &matmul_primitive()) {
      const ValueId a = from->operands()[0], b = from->operands()[1];
      const ValueId columns = transposed(as_rows(transposed_slices(stack_of(a)), turned(a)));
      return like(*from, {columns, as_rows(stack_of(b), b)});
    }
    if (&primitive == &reduce_sum_primitive()) {
      auto attributes = from->attributes_as<ReduceAttributes>();
      attributes.axes = of_stack(attributes.axes);
      return add(primitive, {stack_of(from->operands()[0])},
                 ir::Attributes::of(std::move(attributes)));
    }
    return like(*from, {sum_of(from->operands()[0])});  // a transposition or a conversion
  }

  ValueId sum(ValueId a, ValueId b) { return add(add_primitive(), {a, b}, {}); }

 private:
  ValueId add(const ir::Primitive& primitive, std::vector<ValueId> operands,
              ir::Attributes attributes) {
    return builder_.add({.primitive = primitive,
                         .operands = operands,
                         .attributes = std::move(attributes),
                         .location = location_})[0];
  }
  ValueId like(const Instruction& instruction, std::vector<ValueId> operands) {
    return add(instruction.primitive(), std::move(operands), instruction.attributes());
  }

  // A value of the body that is a constant, transposed or converted.
  ValueId constant_of(ValueId value) {
    const auto known = constants_.find(value);
    if (known != constants_.end()) return known->second;
    const auto from = body_.function().definition(value);
    return constants_[value] = like(*from, {constant_of(from->operands()[0])});
  }

  // The stack of a value of the body, which may be a stacked one, transposed or converted.
  ValueId stack_of(ValueId value) {
    const auto known = stacks_.find(value);
    if (known != stacks_.end()) return known->second;
    const auto from = body_.function().definition(value);
    const ValueId stack = stack_of(from->operands()[0]);
    const bool is_permute = &from->primitive() == &permute_primitive();
    return stacks_[value] = is_permute ? permuted_slices(stack, *from) : like(*from, {stack});
  }

  // The axis of the rounds, and these axes of a slice.
  static std::vector<int64_t> of_stack(const std::vector<int64_t>& axes_of_slice) {
    std::vector<int64_t> axes{0};
    for (const int64_t axis : axes_of_slice) axes.push_back(axis + 1);
    return axes;
  }

  ValueId permuted_slices(ValueId stack, const Instruction& permute) {
    return permuted(stack, of_stack(permute.attributes_as<PermuteAttributes>().axes));
  }
  ValueId permuted(ValueId value, std::vector<int64_t> axes) {
    return add(permute_primitive(), {value},
               ir::Attributes::of(PermuteAttributes{std::move(axes)}));
  }
  ValueId transposed(ValueId matrix) { return permuted(matrix, {1, 0}); }
  ValueId transposed_slices(ValueId stack) { return permuted(stack, {0, 2, 1}); }

  // [t, m, n] as [t · m, n]
  ValueId as_rows(ValueId stack, const Shape& slice) {
    return reshaped(stack, {length_ * slice[0], slice[1]});
  }
  ValueId as_rows(ValueId stack, ValueId of_body) { return as_rows(stack, shape_of(of_body)); }
  ValueId stack_from_rows(ValueId rows, ValueId of_body) {
    const Shape slice = shape_of(of_body);
    return reshaped(rows, {length_, slice[0], slice[1]});
  }
  ValueId reshaped(ValueId value, std::vector<Dim> sizes) {
    return add(reshape_primitive(), {value}, ir::Attributes::of(SizesAttributes{std::move(sizes)}));
  }

  // The shape of a value of the body, in the caller's sizes.
  Shape shape_of(ValueId of_body) const { return sizes_.type(body_.type_of(of_body)).shape(); }
  Shape turned(ValueId of_body) const {
    const Shape shape = shape_of(of_body);
    return Shape({shape[1], shape[0]});
  }

  const ScanBody& body_;
  ir::FunctionBuilder& builder_;
  const ir::Copier& sizes_;  // knows the caller's sizes
  const Dim length_;
  Location location_ = {};
  std::unordered_map<ValueId, ValueId> stacks_, constants_;
};

// A scan without the products that are computed outside of it.
class Fission final : public LoopRewriter {
 public:
  using LoopRewriter::LoopRewriter;

 private:
  bool rewrite(const Instruction& loop, const Caller& caller) override {
    if (loop.primitive().structure != ir::Structure::scan) return false;
    const auto functions = functions_of(caller.index, loop);
    if (functions.empty()) return false;
    const ScanBody body(*functions[0], loop.attributes_as<ir::ScanAttributes>());
    const ScanProducts products(body);
    if (!products.empty()) replace(loop, body, products, caller);
    return !products.empty();
  }

  void replace(const Instruction& loop, const ScanBody& body, const ScanProducts& products,
               const Caller& caller) {
    ir::Draft draft = caller.copier.draft(loop);
    ir::Copier sizes(body.function(), caller.builder);
    const auto& parameters = body.function().signature().size_parameters;
    for (size_t s = 0; s < parameters.size(); ++s) {
      sizes.set_size(parameters[s], draft.callees[0].sizes[s]);
    }
    auto attributes = draft.attributes.as<ir::ScanAttributes>();
    OnStacks on_stacks(body, caller.builder, sizes, attributes.length);
    const std::vector<ValueId> operands = draft.operands;
    draft.operands = other_operands(body, products, operands, on_stacks);
    attributes.carries = static_cast<int64_t>(products.count_of_kept_carries());
    draft.attributes = ir::Attributes::of(attributes);
    draft.callees[0].name = other_body(body, products);
    draft.stated_types.clear();
    const ir::Given given = caller.copier.add(draft);

    on_stacks.set_location(loop.location());
    caller.copier.set_results(loop,
                              {results(body, products, operands, given.values, on_stacks), {}});
  }

  static std::vector<ValueId> other_operands(const ScanBody& body, const ScanProducts& products,
                                             const std::vector<ValueId>& operands,
                                             OnStacks& on_stacks) {
    std::vector<ValueId> kept;
    for (ValueId p = 0; p < operands.size(); ++p) {
      if (products.keeps_parameter(p)) kept.push_back(operands[p]);
      if (body.is_constant(p)) on_stacks.set_constant(p, operands[p]);
      if (body.is_slice(p)) on_stacks.set(p, operands[p]);
    }
    for (const Instruction& product : products.before()) {
      on_stacks.set_location(product.location());
      kept.push_back(on_stacks.product_with_constant(product));
    }
    return kept;
  }

  // The results of the original scan, from those of the other one.
  static std::vector<ValueId> results(const ScanBody& body, const ScanProducts& products,
                                      const std::vector<ValueId>& operands,
                                      const std::vector<ValueId>& given, OnStacks& on_stacks) {
    const auto of_body = body.function().results();
    auto next = given.begin();
    std::vector<ValueId> values;
    for (size_t i = 0; i < of_body.size(); ++i) {
      values.push_back(products.keeps_result(i) ? *next++ : operands[body.carry(i)]);
      if (i >= body.carries()) on_stacks.set(of_body[i], values[i]);
    }
    for (const ValueId value : products.stacked()) on_stacks.set(value, *next++);
    for (const Accumulated& sum : products.after()) {
      for (const ValueId addend : sum.outside) {
        values[sum.carry] = on_stacks.sum(values[sum.carry], on_stacks.sum_of(addend));
      }
    }
    return values;
  }

  // Returns the name of a body that gets the products as slices, and returns the factors.
  std::string other_body(const ScanBody& body, const ScanProducts& products) {
    const ir::Function& function = body.function();
    std::vector<std::string> labels;
    const ir::Signature signature = other_signature(body, products, labels);
    ir::FunctionBuilder builder = new_function(function, signature, labels);
    ir::Copier copier(function, builder);
    ValueId next = 0;
    for (ValueId p = 0; p < function.parameter_count(); ++p) {
      if (products.keeps_parameter(p)) copier.set(p, next++);
    }
    for (const Instruction& product : products.before()) copier.set(product.result(), next++);
    for (const Instruction instruction : function.instructions()) {
      const bool is_one = instruction.result_count() == 1;
      const bool is_outside =
          is_one && (copier.has(instruction.result()) || products.is_sum(instruction.result()));
      if (!is_outside) copier.copy(instruction);
    }
    for (const Accumulated& sum : products.after()) {
      if (!sum.inside.empty()) accumulate(body, sum, builder, copier);
    }
    std::vector<ValueId> results;
    for (size_t i = 0; i < function.results().size(); ++i) {
      if (products.keeps_result(i)) results.push_back(copier.value(function.results()[i]));
    }
    for (const ValueId value : products.stacked()) results.push_back(copier.value(value));
    return finish(builder, results);
  }

  // Adds up what stays in the body.
  static void accumulate(const ScanBody& body, const Accumulated& sum, ir::FunctionBuilder& builder,
                         ir::Copier& copier) {
    ValueId total = copier.value(body.carry(sum.carry));
    for (const ValueId addend : sum.inside) {
      const ValueId operands[] = {total, copier.value(addend)};
      total = builder.add({.primitive = add_primitive(),
                           .operands = operands,
                           .location = body.function().location()})[0];
    }
    copier.set(body.function().results()[sum.carry], total);
  }

  static ir::Signature other_signature(const ScanBody& body, const ScanProducts& products,
                                       std::vector<std::string>& labels) {
    const ir::Function& function = body.function();
    const std::vector<std::string> all_labels = ir::parameter_labels(function);
    ir::Signature signature = function.signature();
    signature.parameters.clear();
    signature.results.clear();
    for (ValueId p = 0; p < function.parameter_count(); ++p) {
      if (!products.keeps_parameter(p)) continue;
      signature.parameters.push_back(body.type_of(p));
      labels.push_back(all_labels[p]);
    }
    for (const Instruction& product : products.before()) {
      signature.parameters.push_back(product.result_types()[0]);
      labels.emplace_back();
    }
    for (size_t i = 0; i < function.results().size(); ++i) {
      if (products.keeps_result(i))
        signature.results.push_back(body.type_of(function.results()[i]));
    }
    for (const ValueId value : products.stacked()) {
      signature.results.push_back(body.type_of(value));
    }
    return signature;
  }
};

}  // namespace

ir::Program with_fission(const ir::Program& program) { return Fission(program).run(); }

}  // namespace plait::compile
