// Solves for the sizes of the function that an evaluation starts with.
#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {

namespace {

class EntrySizes {
 public:
  EntrySizes(const Program& program, const Function& function, Machine& machine,
             std::span<const Value> arguments)
      : program_(program), function_(function), machine_(machine), arguments_(arguments) {}

  void take_known(const SymbolMap<int64_t>& known);
  void solve();
  void check();
  std::vector<int64_t> in_order() const;

 private:
  struct Equation {
    Dim dim;
    int64_t size;
    friend bool operator==(const Equation& a, const Equation& b) {
      return same(a.dim, b.dim) && a.size == b.size;
    }
  };

  const std::vector<Dim>& wanted() const { return function_.signature().size_parameters; }
  size_t missing() const;
  void visit_arrays(FunctionRef<void(const Value&, const Type&, Name)> visit);
  void read_shapes();
  bool solve_for_one(const Equation& equation);

  const Program& program_;
  const Function& function_;
  Machine& machine_;
  std::span<const Value> arguments_;
  SymbolMap<int64_t> sizes_;
  std::vector<Equation> equations_;
};

void EntrySizes::take_known(const SymbolMap<int64_t>& known) {
  for (const auto& [symbol, size] : known) {
    if (std::ranges::find_if(wanted(), is_same_as(symbol)) == wanted().end()) {
      throw KeyError("@{} has no size parameter {}", function_.name(), symbol.text());
    }
    sizes_.set(symbol, size);
  }
}

size_t EntrySizes::missing() const {
  return static_cast<size_t>(
      std::ranges::count_if(wanted(), [&](Dim size) { return sizes_.find(size) == nullptr; }));
}

void EntrySizes::visit_arrays(FunctionRef<void(const Value&, const Type&, Name)> visit) {
  for (ValueId i = 0; i < arguments_.size(); ++i) {
    auto name = [&] { return fmt::format("@{}: {}", function_.name(), value_name(function_, i)); };
    ValueWalk walk(program_, /*into_records=*/true);
    walk.walk(arguments_[i], function_.type_of(i), name,
              [&](const Value& array, const Type& type) { visit(array, type, name); });
  }
}

void EntrySizes::read_shapes() {
  visit_arrays([&](const Value& array, const Type& type, Name name) {
    std::vector<int64_t> given = machine_.sizes_of(array).sizes;
    if (static_cast<int64_t>(given.size()) != type.rank()) {
      check_array(machine_, array, type, sizes_, name);  // reports the error
    }
    size_t i = 0;
    for (Dim dim : type.shape()) {
      Equation equation{dim, given[i++]};
      if (dim.is_number()) continue;
      if (dim.is_symbol()) {
        if (!sizes_.find(dim)) sizes_.set(dim, equation.size);
      } else if (std::ranges::find(equations_, equation) == equations_.end()) {
        equations_.push_back(equation);
      }
    }
  });
}

// Solves a·s + b = size for a single unknown size s.
bool EntrySizes::solve_for_one(const Equation& equation) {
  SymbolMap<Dim> known;
  for (const auto& [symbol, size] : sizes_) known.set(symbol, size);
  Dim dim = equation.dim.substitute(known);
  std::vector<Dim> unknown;
  dim.for_each_symbol([&](Dim symbol) { unknown.push_back(symbol); });
  if (unknown.size() != 1) return false;
  int64_t at_zero = dim.evaluate({{unknown[0], 0}});
  int64_t slope = dim.evaluate({{unknown[0], 1}}) - at_zero;
  bool linear = same(dim, Dim(slope) * unknown[0] + Dim(at_zero));
  if (!linear || slope == 0 || (equation.size - at_zero) % slope != 0) return false;
  int64_t size = (equation.size - at_zero) / slope;
  if (size < 0) {
    throw ShapeError("@{}: a size of {} for {} would make {} negative", function_.name(),
                     equation.size, equation.dim.text(), unknown[0].text());
  }
  sizes_.set(unknown[0], size);
  return true;
}

void EntrySizes::solve() {
  if (missing() == 0) return;
  read_shapes();
  bool progress = true;
  while (missing() > 0 && progress) {
    progress = std::ranges::any_of(equations_, [&](const Equation& e) { return solve_for_one(e); });
  }
  for (Dim size : wanted()) {
    if (sizes_.find(size)) continue;
    throw ValueError("@{}: size {} does not follow from the arguments", function_.name(),
                     size.name())
        .hint("pass it in the options: sizes");
  }
}

void EntrySizes::check() {
  visit_arrays([&](const Value& array, const Type& type, Name name) {
    check_array(machine_, array, type, sizes_, name);
  });
}

std::vector<int64_t> EntrySizes::in_order() const {
  std::vector<int64_t> sizes;
  for (Dim size : wanted()) sizes.push_back(*sizes_.find(size));
  return sizes;
}

}  // namespace

std::vector<int64_t> sizes_on_entry(const Program& program, const Function& function,
                                    Machine& machine, std::span<const Value> arguments,
                                    const SymbolMap<int64_t>& known) {
  size_t wanted = function.parameter_count();
  if (arguments.size() != wanted) {
    throw TypeError("@{} takes {} value{}, {} given", function.name(), wanted,
                    wanted == 1 ? "" : "s", arguments.size());
  }
  EntrySizes sizes(program, function, machine, arguments);
  sizes.take_known(known);
  sizes.solve();
  sizes.check();
  return sizes.in_order();
}

}  // namespace plait::ir
