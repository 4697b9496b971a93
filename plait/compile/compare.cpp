#include "plait/compile/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/tensor/effect_log.h"
#include "plait/tensor/machine.h"
#include "plait/transform/programs.h"

namespace plait::compile {
namespace {

struct Found {
  Difference difference;
};

bool is_array(const PlannedFunction& function, Register r) {
  return function.registers[r].type.is_array();
}

bool are_same_bits(const Array& a, const Array& b) {
  const Array x = a.contiguous(), y = b.contiguous();
  const auto bytes = static_cast<size_t>(x.element_count() * x.element_size());
  return x.dtype() == y.dtype() && x.sizes() == y.sizes() &&
         (bytes == 0 || std::memcmp(x.data(), y.data(), bytes) == 0);
}

// How far they are apart at most, by the greatest number in what is wanted; nothing where one is
// NaN and the other is not, and where their sizes differ.
std::optional<double> distance(const Array& given, const Array& wanted) {
  if (given.sizes() != wanted.sizes()) return std::nullopt;
  const Array a = given.converted(DType::c128).contiguous();
  const Array b = wanted.converted(DType::c128).contiguous();
  const auto x = a.elements<std::complex<double>>(), y = b.elements<std::complex<double>>();
  double greatest = 1e-30, apart = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(std::abs(x[i])) != std::isnan(std::abs(y[i]))) return std::nullopt;
    if (x[i] == y[i] || std::isnan(std::abs(x[i]))) continue;
    if (std::isinf(std::abs(x[i])) || std::isinf(std::abs(y[i]))) return std::nullopt;
    apart = std::max(apart, std::abs(x[i] - y[i]));
  }
  for (const std::complex<double>& each : y) {
    if (std::isfinite(std::abs(each))) greatest = std::max(greatest, std::abs(each));
  }
  return apart / greatest;
}

// Results that are too far apart; nothing where there are none.
std::optional<std::string> difference(std::span<const Array> given, std::span<const Array> wanted,
                                      std::string_view wanted_from, double tolerance) {
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i] || !wanted[i]) continue;
    const auto apart = distance(given[i], wanted[i]);
    if (apart && *apart <= tolerance) continue;
    return fmt::format("result {} is\n{}\nand {}\n{}", i, text_of(given[i]), wanted_from,
                       text_of(wanted[i]));
  }
  return std::nullopt;
}

// Those that are arrays.
std::vector<Array> arrays_in(std::span<const ir::Value> values) {
  std::vector<Array> arrays;
  for (const ir::Value& value : values) {
    arrays.push_back(value.is_machine() ? TensorMachine::array_of(value) : Array());
  }
  return arrays;
}

class Comparing : public StepObserver {
 public:
  Comparing(const Plan& plan, const CompareOptions& options) : plan_(plan), options_(options) {}

  void before(const PlannedFunction& function, const Step& step, const Frame& frame) override {
    operands_.clear();
    for (const Register r : step.operands) {
      const ir::Value& value = frame.cells[function.registers[r].cell];
      operands_.push_back(is_array(function, r) && value.is_machine()
                              ? TensorMachine::array_of(value).copy()
                              : Array());
      expect_unchanged(function, step, frame, r, operands_.back());
    }
  }

  void after(const PlannedFunction& function, const Step& step, const Frame& frame) override {
    std::vector<Array> results;
    for (const Register r : step.results) {
      const ir::Value& value = frame.cells[function.registers[r].cell];
      results.push_back(is_array(function, r) && value.is_machine()
                            ? TensorMachine::array_of(value).copy()
                            : Array());
      known_[&frame][r] = results.back();
    }
    if (step.kind == Step::Kind::put_slice) {  // it writes into those
      for (const Register r : step.operands) known_[&frame].erase(r);
    }
    if (step.kind == Step::Kind::kernel) expect_results(function, step, frame, results);
    ++number_;
  }

 private:
  [[noreturn]] void fail(const PlannedFunction& function, const Step& step, std::string what) {
    throw Found{
        {std::move(what), plan_.text_of(function, step), function.name, number_, step.location}};
  }

  void expect_unchanged(const PlannedFunction& function, const Step& step, const Frame& frame,
                        Register r, const Array& now) {
    const auto& known = known_[&frame];
    const auto place = known.find(r);
    if (place == known.end() || !place->second || !now) return;
    if (are_same_bits(place->second, now)) return;
    fail(function, step, fmt::format("r{} was written over before it is read here", r));
  }

  void expect_results(const PlannedFunction& function, const Step& step, const Frame& frame,
                      std::span<const Array> results) {
    const PlannedKernel& kernel = plan_.kernels[step.kernel];
    std::vector<Tensor> given(operands_.begin(), operands_.end());
    ir::EvaluatorOptions evaluator;
    for (size_t i = 0; i < step.callee_sizes.size(); ++i) {
      const Dim size = step.callee_sizes[i];
      evaluator.sizes.set(kernel.function->signature().size_parameters[i],
                          size.is_number() ? size.number() : size.evaluate(frame.sizes));
    }
    std::vector<Array> wanted;
    for (const Tensor& each : evaluate(ir::Program::of({kernel.function}), given, evaluator)) {
      wanted.push_back(each.array());
    }
    if (auto found = difference(results, wanted, "by the evaluator", options_.tolerance)) {
      fail(function, step, std::move(*found));
    }
  }

  const Plan& plan_;
  const CompareOptions& options_;
  std::vector<Array> operands_;  // of the step that is running
  std::unordered_map<const Frame*, std::unordered_map<Register, Array>> known_;
  size_t number_ = 0;
};

}  // namespace

std::string Difference::text() const {
  if (step.empty()) return what;
  std::string text = fmt::format("step {} of @{}: {}: {}", number, function, step, what);
  if (location.known()) text += fmt::format(", at {}", location.text());
  return text;
}

std::optional<Difference> compare(const ir::Program& program, std::span<const Tensor> arguments,
                                  const CompareOptions& options) {
  return compare(program, values_of({arguments.begin(), arguments.end()}), options);
}

std::optional<Difference> compare(const ir::Program& program,
                                  const std::vector<ir::Value>& arguments,
                                  const CompareOptions& options) {
  EffectLog effects;
  const EffectLog::Scope scope(effects);
  const auto evaluated = [&](const ir::Program& each) {
    effects.rewind();
    TensorMachine machine;
    return arrays_in(ir::evaluate(each, machine, arguments, {.sizes = options.sizes}));
  };
  const auto expect_same = [&](std::span<const Array> given, std::span<const Array> wanted,
                               std::string_view what, std::string_view wanted_from) {
    const auto found = difference(given, wanted, wanted_from, options.tolerance);
    if (found) throw Found{{fmt::format("{}: {}", what, *found)}};
  };
  std::vector<Array> wanted = evaluated(with_tapes(program));
  const auto behind = [&](const Pass& pass, const ir::Program& each) {
    std::vector<Array> now = evaluated(each);
    expect_same(now, wanted, fmt::format("the program behind {}", pass.name), "before");
    wanted = std::move(now);
  };
  try {
    const Compiled compiled(program, {.observer = behind});
    Comparing comparing(compiled.plan(), options);
    effects.rewind();
    const auto given = compiled.run_values(arguments, options.sizes,
                                           {.observer = &comparing, .arena = options.arena});
    expect_same(arrays_in(given.values), wanted, "where each step is right", "by the evaluator");
  } catch (const Found& found) {
    return found.difference;
  }
  return std::nullopt;
}

}  // namespace plait::compile
