#include "tests/support/programs/random_program.h"

#include <random>

#include "plait/ir/builder.h"
#include "plait/ir/structure.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {

namespace {

const Type kScalar = Type::scalar(DType::f64), kBool = Type::scalar(DType::boolean);

class Generator {
 public:
  Generator(uint64_t seed, int size) : random_(seed), size_(size) {}

  Program make() {
    // The entry comes first in a program, but is made last: it calls the others.
    std::vector<std::shared_ptr<const Function>> functions;
    int helpers = 1 + below(4);
    for (int i = 0; i < helpers; ++i) {
      functions.push_back(scalar_map(fmt::format("scalar_{}", i)));
      functions.push_back(vector_map(fmt::format("vector_{}", i)));
      for (size_t k = functions.size() - 2; k < functions.size(); ++k) {
        declarations_.add(functions[k]->name(), functions[k]->signature());
      }
      ++helpers_;
    }
    add_loop_helpers(functions);
    functions.insert(functions.begin(), entry());
    return Program::of(std::move(functions));
  }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }

  // The values of one function while it is built, by kind.
  struct Scope {
    FunctionBuilder builder;
    Dim n = 0;
    std::vector<ValueId> scalars, vectors, booleans;
  };
  ValueId any(const std::vector<ValueId>& values) {
    return values[below(static_cast<int>(values.size()))];
  }

  std::shared_ptr<const Function> scalar_map(std::string name) {
    Scope scope{FunctionBuilder(std::move(name), declarations_)};
    scope.scalars.push_back(scope.builder.parameter(kScalar, "x"));
    fill(scope);
    return scope.builder.finish({any(scope.scalars)});
  }

  std::shared_ptr<const Function> vector_map(std::string name) {
    Scope scope{FunctionBuilder(std::move(name), declarations_)};
    scope.n = scope.builder.size_parameter("n");
    scope.scalars.push_back(scope.builder.parameter(kScalar, "x"));
    scope.vectors.push_back(scope.builder.parameter(Type::array(DType::f64, {scope.n}), "v"));
    fill(scope);
    return scope.builder.finish({any(scope.vectors)});
  }

  std::shared_ptr<const Function> entry() {
    Scope scope{FunctionBuilder("main", declarations_)};
    scope.n = scope.builder.size_parameter("n");
    scope.scalars.push_back(scope.builder.parameter(kScalar, "x"));
    scope.vectors.push_back(scope.builder.parameter(Type::array(DType::f64, {scope.n}), "v"));
    scope.booleans.push_back(scope.builder.parameter(kBool, "p"));
    fill(scope);
    return scope.builder.finish({any(scope.scalars), any(scope.vectors)});
  }

  // A counting loop and a running sum, for `while` and `scan`.
  void add_loop_helpers(std::vector<std::shared_ptr<const Function>>& functions) {
    FunctionBuilder test("below_limit", declarations_);
    ValueId limit = test.parameter(kScalar, "limit"), count = test.parameter(kScalar, "count");
    test.parameter(kScalar, "x");
    functions.push_back(test.finish({test.add("less", {count, limit})}));

    FunctionBuilder step("one_step", declarations_);
    step.parameter(kScalar, "limit");
    ValueId so_far = step.parameter(kScalar, "count"), x = step.parameter(kScalar, "x");
    ValueId next = step.add("add", {so_far, step.literal(Literal::scalar(DType::f64, 1))});
    ValueId mapped = step.call("scalar_0", {x});
    functions.push_back(step.finish({next, mapped}));

    FunctionBuilder row("one_row", declarations_);
    ValueId state = row.parameter(kScalar, "state"), entry = row.parameter(kScalar, "entry");
    ValueId sum = row.add("add", {state, entry});
    functions.push_back(row.finish({sum, row.add("multiply", {sum, entry})}));

    for (size_t k = functions.size() - 3; k < functions.size(); ++k) {
      declarations_.add(functions[k]->name(), functions[k]->signature());
    }
    loops_ = true;
  }

  void fill(Scope& scope) {
    int wanted = 1 + below(size_);
    while (static_cast<int>(scope.builder.so_far().size()) < wanted) grow(scope);
  }

  void grow(Scope& scope) {
    switch (below(10)) {
      case 0:
        scope.scalars.push_back(scope.builder.literal(Literal::scalar(DType::f64, below(7) - 3)));
        break;
      case 1: binary(scope, scope.scalars); break;
      case 2: scope.scalars.push_back(scope.builder.add(unary(), {any(scope.scalars)})); break;
      case 3:
        scope.booleans.push_back(
            scope.builder.add("less", {any(scope.scalars), any(scope.scalars)}));
        break;
      case 4: vectors(scope); break;
      case 5: calls(scope); break;
      case 6: branches(scope); break;
      case 7: tuples(scope); break;
      case 8: loops(scope); break;
      case 9: select(scope); break;
    }
  }

  std::string_view unary() {
    constexpr std::string_view names[] = {"negate", "sin", "cos", "exp"};
    return names[below(4)];
  }

  void binary(Scope& scope, std::vector<ValueId>& values) {
    constexpr std::string_view names[] = {"add", "subtract", "multiply", "maximum"};
    values.push_back(scope.builder.add(names[below(4)], {any(values), any(values)}));
  }

  void vectors(Scope& scope) {
    if (scope.vectors.empty()) return;
    switch (below(3)) {
      case 0: binary(scope, scope.vectors); break;
      case 1: scope.vectors.push_back(scope.builder.add(unary(), {any(scope.vectors)})); break;
      case 2: scope.scalars.push_back(scope.builder.add("sum", {any(scope.vectors)})); break;
    }
  }

  void calls(Scope& scope) {
    if (helpers_ == 0) return;
    int which = below(helpers_);
    if (scope.vectors.empty() || below(2)) {
      scope.scalars.push_back(
          scope.builder.call(fmt::format("scalar_{}", which), {any(scope.scalars)}));
      return;
    }
    ValueId operands[] = {any(scope.scalars), any(scope.vectors)};
    scope.vectors.push_back(
        scope.builder.call(fmt::format("vector_{}", which), std::span(&scope.n, 1), operands));
  }

  void branches(Scope& scope) {
    if (helpers_ == 0 || scope.booleans.empty()) return;
    bool vector = !scope.vectors.empty() && below(2);
    std::string_view kind = vector ? "vector" : "scalar";
    std::vector<Dim> sizes;
    std::vector<ValueId> operands{any(scope.booleans), any(scope.scalars)};
    if (vector) {
      sizes.push_back(scope.n);
      operands.push_back(any(scope.vectors));
    }
    Callee callees[] = {{fmt::format("{}_{}", kind, below(helpers_)), sizes},
                        {fmt::format("{}_{}", kind, below(helpers_)), sizes}};
    ValueId result = scope.builder.add(
        {.primitive = primitive(Structure::cond), .operands = operands, .callees = callees});
    (vector ? scope.vectors : scope.scalars).push_back(result);
  }

  void tuples(Scope& scope) {
    ValueId pair = scope.builder.add("tuple", {any(scope.scalars), any(scope.scalars)});
    scope.scalars.push_back(
        scope.builder.add("element", {pair}, Attributes::of(ElementAttributes{.index = below(2)})));
  }

  void loops(Scope& scope) {
    if (!loops_) return;
    FunctionBuilder& f = scope.builder;
    if (below(2)) {
      ValueId operands[] = {f.literal(Literal::scalar(DType::f64, below(5))),
                            f.literal(Literal::scalar(DType::f64, 0)), any(scope.scalars)};
      Callee callees[] = {{"below_limit", {}}, {"one_step", {}}};
      Added loop = f.add({.primitive = primitive(Structure::while_),
                          .operands = operands,
                          .attributes = Attributes::of(WhileAttributes{.constants = 1}),
                          .callees = callees});
      scope.scalars.push_back(loop[1]);
    } else if (!scope.vectors.empty()) {
      ValueId operands[] = {any(scope.scalars), any(scope.vectors)};
      Callee callee{"one_row", {}};
      Added loop = f.add({.primitive = primitive(Structure::scan),
                          .operands = operands,
                          .attributes = Attributes::of(ScanAttributes{
                              .carries = 1, .length = scope.n, .reverse = below(2) == 1}),
                          .callees = {&callee, 1}});
      scope.scalars.push_back(loop[0]);
      scope.vectors.push_back(loop[1]);
    }
  }

  void select(Scope& scope) {
    if (scope.booleans.empty()) return;
    scope.scalars.push_back(
        scope.builder.add("select", {any(scope.booleans), any(scope.scalars), any(scope.scalars)}));
  }

  std::mt19937_64 random_;
  int size_;
  int helpers_ = 0;  // number of functions scalar_i and vector_i that may be called
  bool loops_ = false;
  Declarations declarations_;
};

}  // namespace

Program random_program(uint64_t seed, int size) {
  register_scalar_ops();
  return Generator(seed, size).make();
}

}  // namespace plait::ir
