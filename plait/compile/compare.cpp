#include "plait/compile/compare.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/effect_log.h"
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

constexpr double kFar = INFINITY;

// The largest difference, relative to the largest number in `wanted`. Infinite if sizes differ, or
// one element is NaN and the other is not.
double distance(const Array& given, const Array& wanted) {
  if (given.sizes() != wanted.sizes()) return kFar;
  const Array a = given.converted(DType::c128).contiguous();
  const Array b = wanted.converted(DType::c128).contiguous();
  const auto x = a.elements<std::complex<double>>(), y = b.elements<std::complex<double>>();
  double greatest = 1e-30, apart = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(std::abs(x[i])) != std::isnan(std::abs(y[i]))) return kFar;
    if (x[i] == y[i] || std::isnan(std::abs(x[i]))) continue;
    if (std::isinf(std::abs(x[i])) || std::isinf(std::abs(y[i]))) return kFar;
    apart = std::max(apart, std::abs(x[i] - y[i]));
  }
  for (const std::complex<double>& each : y) {
    if (std::isfinite(std::abs(each))) greatest = std::max(greatest, std::abs(each));
  }
  return apart / greatest;
}

// Perturbs numbers by a few ulps; narrow dtypes, which are rounded after each operation, by at
// most one.
Array nearby(const Array& array, uint64_t seed) {
  if (!array || !is_inexact(array.dtype())) return array;
  const double units = size_of(real_dtype(array.dtype())) < 4 ? 0.5 : 4;
  const Tensor x(array);
  const Tensor noise = astype(random::normal(random::key(seed), x.shape()), DType::f64);
  const double unit = float_limits(array.dtype()).epsilon;
  return (x * astype(noise * (units * unit) + 1., array.dtype())).array();
}

// An array's elements; of complex ones both parts.
std::vector<double> numbers_in(const Array& array) {
  const Array wide = array.converted(DType::c128).contiguous();
  std::vector<double> numbers;
  for (const std::complex<double>& each : wide.elements<std::complex<double>>()) {
    numbers.push_back(each.real());
    if (is_complex(array.dtype())) numbers.push_back(each.imag());
  }
  return numbers;
}

// Adds to each result that is computed, rather than moved, the rounding error that sums of its
// operands may have: a few ulps of the largest operand. What is 0 since it subtracts equal numbers,
// as a centred row of equal ones, is not 0 if it is computed in another order.
class NoisyMachine final : public TensorMachine {
 public:
  explicit NoisyMachine(uint64_t seed) : seed_(seed) {}

  void run(ir::PrimitiveCall& call) override {
    std::set<double> numbers;
    double largest = 0;
    for (const ir::Value& value : call.operands) {
      if (!is_inexact(array_of(value).dtype())) continue;
      for (const double number : numbers_in(array_of(value))) {
        numbers.insert(number);
        if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
      }
    }
    TensorMachine::run(call);
    if (call.instruction.primitive().elementwise != ir::Elementwise::no) return;
    for (ir::Value& value : call.results) {
      const Array& result = array_of(value);
      if (!is_inexact(result.dtype())) continue;
      const bool is_moved = std::ranges::all_of(
          numbers_in(result), [&](double number) { return numbers.contains(number); });
      if (!is_moved) value = value_of(with_error(result, largest));
    }
  }

 private:
  Array with_error(const Array& array, double largest) {
    const Tensor x(array);
    const Tensor noise = random::normal(random::key(seed_++), x.shape());
    const double unit = 4 * float_limits(array.dtype()).epsilon * largest;
    return (x + astype(astype(noise, DType::f64) * unit, array.dtype())).array();
  }

  uint64_t seed_;
};

// Expected results, and the operands that they are computed from.
class Wanted {
 public:
  using Evaluate = std::function<std::vector<Array>(std::span<const Array>, TensorMachine&)>;

  Wanted(std::span<const Array> operands, Evaluate evaluate)
      : operands_(operands), evaluate_(std::move(evaluate)) {
    TensorMachine machine;
    results_ = evaluate_(operands, machine);
  }

  std::span<const Array> results() const { return results_; }
  // Describes a difference larger than the tolerance and, with a tolerance above 0, larger than
  // rounding explains.
  std::optional<std::string> difference(std::span<const Array> given, std::string_view from,
                                        double tolerance) const {
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i] || !results_[i]) continue;
      const double apart = distance(given[i], results_[i]);
      if (apart <= tolerance || (tolerance > 0 && is_rounding(apart, i))) continue;
      return fmt::format("result {} is\n{}\nand {}\n{}", i, text_of(given[i]), from,
                         text_of(results_[i]));
    }
    return std::nullopt;
  }

 private:
  // True if a result moves as far, by a safety factor, when operands are perturbed, or what is
  // computed of them: a difference of nearly equal numbers is all rounding error. Many tries, since
  // a sort of equal numbers may give another order in few of them.
  bool is_rounding(double apart, size_t result) const {
    constexpr uint64_t kTries = 64;
    constexpr double kMore = 4;
    for (uint64_t seed = 0; seed < kTries; ++seed) {
      std::vector<Array> others;
      for (const Array& each : operands_) {
        others.push_back(nearby(each, seed * operands_.size() + others.size()));
      }
      TensorMachine exact;
      NoisyMachine noisy(seed << 32);
      for (TensorMachine* const machine : {&exact, static_cast<TensorMachine*>(&noisy)}) {
        try {
          const Array now = evaluate_(others, *machine)[result];
          if (!now || apart <= kMore * distance(now, results_[result])) return true;
        } catch (const Error&) {
          return true;
        }
      }
    }
    return false;
  }

  std::span<const Array> operands_;
  Evaluate evaluate_;
  std::vector<Array> results_;
};

// The arrays among the values; others are empty.
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
      const ir::Value& value = frame.value(r);
      operands_.push_back(is_array(function, r) && value.is_machine()
                              ? TensorMachine::array_of(value).copy()
                              : Array());
      expect_unchanged(function, step, frame, r, operands_.back());
    }
  }

  void after(const PlannedFunction& function, const Step& step, const Frame& frame) override {
    std::vector<Array> results;
    for (const Register r : step.results) {
      const ir::Value& value = frame.value(r);
      results.push_back(is_array(function, r) && value.is_machine()
                            ? TensorMachine::array_of(value).copy()
                            : Array());
      known_[&frame][r] = results.back();
    }
    if (step.is<PutSliceStep>()) {  // it writes into its operands
      for (const Register r : step.operands) known_[&frame].erase(r);
    }
    if (const auto* kernel = step.as<KernelStep>()) {
      expect_results(function, step, *kernel, frame, results);
    }
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
    fail(function, step, fmt::format("r{} was overwritten before it is read here", r));
  }

  void expect_results(const PlannedFunction& function, const Step& step, const KernelStep& kind,
                      const Frame& frame, std::span<const Array> results) {
    const PlannedKernel& kernel = plan_.kernels[kind.kernel];
    const ir::Program program = ir::Program::of({kernel.function});
    ir::EvaluatorOptions evaluator;
    for (size_t i = 0; i < kind.function_sizes.size(); ++i) {
      evaluator.sizes.set(kernel.function->signature().size_parameters[i],
                          frame.number(kind.function_sizes[i]));
    }
    const Wanted wanted(operands_, [&](std::span<const Array> operands, TensorMachine& machine) {
      std::vector<ir::Value> given;
      for (const Array& each : operands) given.push_back(TensorMachine::value_of(each));
      return arrays_in(ir::evaluate(program, machine, given, evaluator));
    });
    if (auto found = wanted.difference(results, "by the evaluator", options_.tolerance)) {
      fail(function, step, std::move(*found));
    }
  }

  const Plan& plan_;
  const CompareOptions& options_;
  std::vector<Array> operands_;  // operands of the running step
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
  const std::vector<Array> operands = arrays_in(arguments);
  const auto wanted_of = [&](const ir::Program& each) {
    return Wanted(operands, [&, each](std::span<const Array> given, TensorMachine& machine) {
      effects.rewind();
      std::vector<ir::Value> values = arguments;
      for (size_t i = 0; i < values.size(); ++i) {
        if (given[i]) values[i] = TensorMachine::value_of(given[i]);
      }
      return arrays_in(ir::evaluate(each, machine, values, {.sizes = options.sizes}));
    });
  };
  const auto expect = [&](const Wanted& wanted, std::span<const Array> given, std::string_view what,
                          std::string_view from) {
    const auto found = wanted.difference(given, from, options.tolerance);
    if (found) throw Found{{fmt::format("{}: {}", what, *found)}};
  };
  Wanted wanted = wanted_of(with_tapes(program));
  const auto behind = [&](const Pass& pass, const ir::Program& each) {
    Wanted now = wanted_of(each);
    expect(wanted, now.results(), fmt::format("the program after {}", pass.name), "before");
    wanted = std::move(now);
  };
  try {
    const Compiled compiled(program, {.observer = behind});
    Comparing comparing(CompiledAccess::plan(compiled), options);
    effects.rewind();
    const auto given = CompiledAccess::run_values(compiled, arguments, options.sizes,
                                                  {.observer = &comparing, .arena = options.arena});
    expect(wanted, arrays_in(given.values), "with the right operands for each step",
           "by the evaluator");
  } catch (const Found& found) {
    return found.difference;
  }
  return std::nullopt;
}

}  // namespace plait::compile
