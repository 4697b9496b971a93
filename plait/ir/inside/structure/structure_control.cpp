// Type rules of calls, branches, loops, and custom derivatives.
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"

namespace plait::ir {

namespace {

std::vector<Dim> new_sizes_like(Inference& in, std::span<const Dim> names) {
  std::vector<Dim> sizes;
  for (Dim name : names) sizes.push_back(in.new_size(name.name()));
  return sizes;
}

void expect_operands(const Inference& in, size_t first, const std::vector<Type>& parameters,
                     size_t callee) {
  size_t given = in.operands.size() - first;
  if (given != parameters.size()) {
    in.fail("@{} takes {} values, {} are given", in.callees[callee].name, parameters.size(), given);
  }
  for (size_t i = 0; i < given; ++i) {
    in.expect_operand(first + i, parameters[i],
                      fmt::format("parameter {} of @{}", i, in.callees[callee].name));
  }
}

void expect_types(const Inference& in, const std::vector<Type>& given,
                  const std::vector<Type>& wanted, std::string_view what) {
  if (given.size() != wanted.size()) {
    in.fail("{}: {} values, expected {}", what, given.size(), wanted.size());
  }
  for (size_t i = 0; i < given.size(); ++i) {
    in.expect_same(given[i], wanted[i], fmt::format("{}: value {}", what, i));
  }
}

void expect_same_sizes(const Inference& in) {
  for (const Callee& callee : in.callees) {
    if (!std::ranges::equal(callee.sizes, in.callees[0].sizes, kSame)) {
      in.fail("@{} and @{} must be given the same sizes", in.callees[0].name, callee.name);
    }
  }
}

// Results chosen by a predicate vary along its axes; sizes must not vary at all.
void expect_chosen_by(const Inference& in, const AxisSet& predicate, std::span<const Dim> sizes) {
  if (predicate.empty()) return;
  if (!sizes.empty()) {
    throw TypeError("{}: the predicate varies along {}, so size {} would differ along it",
                    in.primitive.name, predicate.text(), sizes[0].text())
        .at(in.location)
        .hint("use the padded form: a fixed size and the number of valid entries");
  }
  for (size_t i = 0; i < in.results.size(); ++i) {
    if (in.results[i].all_varying().contains(predicate)) continue;
    in.fail("the predicate varies along {}, so result {} ({}) must vary along it too",
            predicate.text(), i, in.results[i].text());
  }
}

void infer_call(Inference& in) {
  const std::vector<Dim>& sizes = in.callees[0].sizes;
  Signature callee = in.callee_at(0, sizes);
  expect_operands(in, 0, callee.parameters, 0);
  std::vector<Dim> new_sizes = new_sizes_like(in, callee.result_sizes);
  in.results = in.callee_results(0, sizes, new_sizes);
}

void infer_branches(Inference& in) {
  std::vector<Dim> new_sizes = new_sizes_like(in, in.callee(0).result_sizes);
  for (size_t i = 0; i < in.callees.size(); ++i) {
    const std::string& name = in.callees[i].name;
    Signature branch = in.callee_at(i, in.callees[i].sizes);
    expect_operands(in, 1, branch.parameters, i);
    if (branch.result_sizes.size() != new_sizes.size()) {
      in.fail("@{} returns {} sizes, @{} returns {}", in.callees[0].name, new_sizes.size(), name,
              branch.result_sizes.size());
    }
    std::vector<Type> results = in.callee_results(i, in.callees[i].sizes, new_sizes);
    if (i == 0)
      in.results = std::move(results);
    else
      expect_types(in, results, in.results,
                   fmt::format("@{} against @{}", name, in.callees[0].name));
  }
  expect_chosen_by(in, in.operands[0].varying(), new_sizes);
}

void infer_cond(Inference& in) {
  const Type& predicate = in.operands[0];
  if (!predicate.is_array() || predicate.rank() != 0 || predicate.dtype() != DType::boolean) {
    in.fail("the predicate is {}, expected bool[]", predicate.text());
  }
  infer_branches(in);
}

void infer_switch(Inference& in) {
  const Type& index = in.operands[0];
  if (!index.is_array() || index.rank() != 0 || !is_integer(index.dtype())) {
    in.fail("the index is {}, expected an integer", index.text());
  }
  infer_branches(in);
}

size_t checked_count(const Inference& in, int64_t count, std::string_view what, size_t most) {
  if (count < 0 || static_cast<size_t>(count) > most) {
    in.fail("{} = {} with {} operands", what, count, in.operands.size());
  }
  return static_cast<size_t>(count);
}

// The results of a loop body must have the types of its parameters, where the returned sizes
// replace its first size parameters; and the types of constants must not depend on these sizes.
void expect_loop_invariant(const Inference& in, const Signature& body, size_t constants) {
  size_t carried_sizes = body.result_sizes.size();
  SymbolMap<Dim> next;
  for (size_t i = 0; i < carried_sizes; ++i)
    next.set(body.result_sizes[i], body.size_parameters[i]);
  std::vector<Type> given;
  for (const Type& type : body.results) given.push_back(type.substitute(next));
  std::vector<Type> wanted(body.parameters.begin() + constants, body.parameters.end());
  expect_types(in, given, wanted, fmt::format("results and parameters of @{}", in.callees[1].name));
  for (size_t i = 0; i < constants; ++i) {
    body.parameters[i].for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim symbol) {
        for (size_t k = 0; k < carried_sizes; ++k) {
          if (!same(symbol, body.size_parameters[k])) continue;
          in.fail("constant {} has type {}, but size {} changes from step to step", i,
                  body.parameters[i].text(), symbol.text());
        }
      });
    });
  }
}

void infer_while(Inference& in) {
  expect_same_sizes(in);
  const std::vector<Dim>& sizes = in.callees[0].sizes;
  const Signature& body = in.callee(1);
  size_t constants = checked_count(in, in.attributes_as<WhileAttributes>().constants, "constants",
                                   in.operands.size());
  expect_operands(in, 0, in.callee_at(1, sizes).parameters, 1);
  if (body.result_sizes.size() > body.size_parameters.size()) {
    in.fail("@{} returns {} sizes but takes {}", in.callees[1].name, body.result_sizes.size(),
            body.size_parameters.size());
  }
  expect_loop_invariant(in, body, constants);
  expect_types(in, in.callee_at(0, body.size_parameters).parameters, body.parameters,
               fmt::format("parameters of @{} and @{}", in.callees[0].name, in.callees[1].name));
  const Signature& test = in.callee(0);
  if (test.results.size() != 1 || !test.result_sizes.empty() || !test.results[0].is_array() ||
      test.results[0].rank() != 0 || test.results[0].dtype() != DType::boolean) {
    in.fail("@{} must return one bool[]", in.callees[0].name);
  }
  std::vector<Dim> final_sizes = sizes;
  for (size_t i = 0; i < body.result_sizes.size(); ++i)
    final_sizes[i] = in.new_size(body.result_sizes[i].name());
  Signature at_end = in.callee_at(1, final_sizes);
  in.results.assign(at_end.parameters.begin() + constants, at_end.parameters.end());
  expect_chosen_by(in, test.results[0].varying(), in.size_results);
}

Type slice_type(const Inference& in, size_t operand, Dim length) {
  const Type& stacked = in.operands[operand];
  if (!stacked.is_array() || stacked.rank() == 0 || !same(stacked.shape()[0], length)) {
    in.fail("operand {} is {}, expected an array whose first size is {}", operand, stacked.text(),
            length.text());
  }
  std::vector<Dim> dims(stacked.shape().begin() + 1, stacked.shape().end());
  return Type::array(stacked.dtype(), Shape(dims), stacked.varying());
}

Type stacked_type(const Inference& in, const Type& slice, Dim length) {
  if (!slice.is_array()) in.fail("stacks arrays only, not {}", slice.text());
  std::vector<Dim> dims{length};
  dims.insert(dims.end(), slice.shape().begin(), slice.shape().end());
  return Type::array(slice.dtype(), Shape(dims), slice.varying());
}

void infer_scan(Inference& in) {
  const auto& attributes = in.attributes_as<ScanAttributes>();
  size_t constants = checked_count(in, attributes.constants, "constants", in.operands.size());
  size_t carries = checked_count(in, attributes.carries, "carries", in.operands.size() - constants);
  Signature body = in.callee_at(0, in.callees[0].sizes);
  if (!body.result_sizes.empty()) in.fail("@{} must not return sizes", in.callees[0].name);
  std::vector<Type> taken(in.operands.begin(), in.operands.begin() + constants + carries);
  for (size_t i = constants + carries; i < in.operands.size(); ++i) {
    taken.push_back(slice_type(in, i, attributes.length));
  }
  expect_types(in, taken, body.parameters, fmt::format("parameters of @{}", in.callees[0].name));
  std::vector<Type> given = in.callee_results(0, in.callees[0].sizes, {});
  if (given.size() < carries) {
    in.fail("@{} returns {} values, fewer than the {} carries", in.callees[0].name, given.size(),
            carries);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (i >= carries) {
      in.give(stacked_type(in, given[i], attributes.length));
      continue;
    }
    in.expect_same(given[i], taken[constants + i],
                   fmt::format("carry {} as returned by the body", i));
    in.give(given[i]);
  }
}

void infer_unwind(Inference& in) {
  const Type& list = in.operands[0];
  if (!list.is_optional() || !list.element().is_record()) {
    in.fail("takes a list of records, not {}", list.text());
  }
  const RecordType& record = in.record(list.element());
  std::vector<Dim>
      sizes;  // sizes of the body: renamed held sizes of the node, then the written ones
  for (Dim held : record.held) sizes.push_back(Dim::symbol(fmt::format("held.{}", held.name())));
  std::vector<Type> wanted = record.fields_of(list.element().record_arguments(), sizes);
  if (wanted.empty() || !fits(wanted.back(), list)) {
    in.fail("the last field of @{} must be {}", record.name, list.text());
  }
  wanted.pop_back();
  wanted.insert(wanted.end(), in.operands.begin() + 1, in.operands.end());
  sizes.insert(sizes.end(), in.callees[0].sizes.begin(), in.callees[0].sizes.end());
  Signature body = in.callee_at(0, sizes);
  expect_types(in, body.parameters, wanted, fmt::format("parameters of @{}", in.callees[0].name));
  if (!body.result_sizes.empty()) in.fail("@{} must not return sizes", in.callees[0].name);
  in.results.assign(in.operands.begin() + 1, in.operands.end());
  expect_types(in, in.callee_results(0, sizes, {}), in.results,
               fmt::format("results of @{}", in.callees[0].name));
}

void append_tangents(std::vector<Type>& types, const std::vector<Type>& of) {
  for (const Type& type : of) {
    if (has_tangent(type)) types.push_back(type);
  }
}

// The last operands may be captures, which the rules ignore.
void leave_captured(std::vector<Type>& types, size_t ruled) {
  types.resize(std::min(types.size(), ruled));
}

void infer_custom_vjp(Inference& in) {
  expect_same_sizes(in);
  infer_call(in);
  if (!in.size_results.empty()) in.fail("@{} must not return sizes", in.callees[0].name);
  const std::vector<Dim>& sizes = in.callees[0].sizes;
  Signature forward = in.callee_at(1, sizes), backward = in.callee_at(2, sizes);
  expect_operands(in, 0, forward.parameters, 1);
  std::vector<Type> given = in.callee_results(1, sizes, {});
  if (given.size() < in.results.size()) {
    in.fail("@{} returns {} values, fewer than the {} results", in.callees[1].name, given.size(),
            in.results.size());
  }
  std::vector<Type> residuals(given.begin() + in.results.size(), given.end());
  given.resize(in.results.size());
  expect_types(in, given, in.results, fmt::format("results of @{}", in.callees[1].name));
  append_tangents(residuals, in.results);
  expect_types(in, backward.parameters, residuals,
               fmt::format("parameters of @{}", in.callees[2].name));
  std::vector<Type> cotangents;
  append_tangents(cotangents, std::vector<Type>(in.operands.begin(), in.operands.end()));
  const std::vector<Type> sent = in.callee_results(2, sizes, {});
  leave_captured(cotangents, sent.size());
  expect_types(in, sent, cotangents, fmt::format("results of @{}", in.callees[2].name));
}

void infer_custom_jvp(Inference& in) {
  expect_same_sizes(in);
  infer_call(in);
  if (!in.size_results.empty()) in.fail("@{} must not return sizes", in.callees[0].name);
  const std::vector<Dim>& sizes = in.callees[0].sizes;
  std::vector<Type> taken(in.operands.begin(), in.operands.end());
  append_tangents(taken, std::vector<Type>(taken));
  const std::vector<Type> parameters = in.callee_at(1, sizes).parameters;
  leave_captured(taken, std::max(parameters.size(), in.operands.size()));
  expect_types(in, parameters, taken, fmt::format("parameters of @{}", in.callees[1].name));
  std::vector<Type> given = in.results;
  append_tangents(given, in.results);
  expect_types(in, in.callee_results(1, sizes, {}), given,
               fmt::format("results of @{}", in.callees[1].name));
}

// The first callee is the pullback of the second.
void infer_pull(Inference& in) {
  infer_call(in);
  const Signature of = in.callee_at(1, in.callees[1].sizes);
  if (of.parameters.size() > in.operands.size()) {
    in.fail("@{} takes {} values, {} are given", in.callees[1].name, of.parameters.size(),
            in.operands.size());
  }
  for (size_t i = 0; i < of.parameters.size(); ++i) {
    in.expect_operand(i, of.parameters[i],
                      fmt::format("parameter {} of @{}", i, in.callees[1].name));
  }
  std::vector<Type> wanted;
  for (const int64_t i : in.attributes_as<PullAttributes>().wanted) {
    if (i < 0 || i >= static_cast<int64_t>(of.parameters.size())) {
      throw IndexError("pull: @{} has no parameter {}", in.callees[1].name, i).at(in.location);
    }
    wanted.push_back(of.parameters[static_cast<size_t>(i)]);
  }
  expect_types(in, in.results, wanted, fmt::format("results of @{}", in.callees[0].name));
}

Primitive control(std::string name, std::string summary, Structure structure, Count operands,
                  Count callees, void (*infer)(Inference&)) {
  return {.name = std::move(name),
          .summary = std::move(summary),
          .structure = structure,
          .operands = operands,
          .callees = callees,
          .infer = infer,
          .infers_axes = true};
}

Primitive with_attributes(Primitive primitive, const AttributeSchema& schema) {
  primitive.attributes = &schema;
  return primitive;
}

}  // namespace

std::vector<Primitive> control_primitives() {
  Primitive switch_primitive = control("switch", "One of several functions, chosen by an index.",
                                       Structure::switch_, at_least(1), at_least(1), infer_switch);
  switch_primitive.effects = may_fail;
  return {
      control("call", "A call of a function.", Structure::call, at_least(0), exactly(1),
              infer_call),
      control("fused", "A call of what one kernel computes.", Structure::fused, at_least(0),
              exactly(1), infer_call),
      control("cond", "One of two functions, chosen by a condition.", Structure::cond, at_least(1),
              exactly(2), infer_cond),
      std::move(switch_primitive),
      with_attributes(control("while", "A function repeated while another one returns true.",
                              Structure::while_, at_least(0), exactly(2), infer_while),
                      schema_of<WhileAttributes>()),
      with_attributes(control("scan", "A function applied to each slice of its stacked operands.",
                              Structure::scan, at_least(0), exactly(1), infer_scan),
                      schema_of<ScanAttributes>()),
      control("unwind", "A function applied to each node of a list, from its head on.",
              Structure::unwind, at_least(1), exactly(1), infer_unwind),
      with_attributes(
          control("pull", "A call of a function that is the reverse derivative of another.",
                  Structure::pull, at_least(0), exactly(2), infer_pull),
          schema_of<PullAttributes>()),
      with_attributes(
          control("remat", "A call whose inner values are computed again when differentiated.",
                  Structure::remat, at_least(0), exactly(1), infer_call),
          schema_of<RematAttributes>()),
      control("custom_vjp", "A call whose reverse derivative is given.", Structure::custom_vjp,
              at_least(0), exactly(3), infer_custom_vjp),
      control("custom_jvp", "A call whose forward derivative is given.", Structure::custom_jvp,
              at_least(0), exactly(2), infer_custom_jvp),
  };
}

}  // namespace plait::ir
