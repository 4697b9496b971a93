#include "tests/support/programs/tensor_program.h"

#include <algorithm>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/text/parser_types.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

constexpr double kNearby = 1e-6;  // distance of the perturbed inputs
constexpr double kGreatest = 4;   // magnitude of a value; greater ones are scaled down
constexpr double kSteepest = 30;  // rate of change of a value
constexpr int64_t kMostElements = 160;

struct NothingFits {};

double greatest_element(const Tensor& x) {
  if (!is_inexact(x.dtype()) || x.array().element_count() == 0) return 0;
  return max(absolute(x)).item<double>();
}

// A power of two, so that scaling does not round.
double scale_of(const DrawnValue& value) {
  if (!is_inexact(value.type.dtype())) return 1;
  const double size = greatest_element(value.here) / kGreatest;
  const double slope = greatest_element(value.nearby - value.here) / kNearby / kSteepest;
  const double excess = std::max(size, slope);
  return excess <= 1 ? 1 : std::exp2(-std::ceil(std::log2(excess)));
}

std::vector<ir::Type> result_types(const std::vector<ir::Type>& operands,
                                   const ChosenStep& chosen) {
  Trace trace("types", Trace::apart);
  Tensors parameters;
  for (const ir::Type& type : operands) parameters.push_back(trace.parameter(type));
  std::vector<ir::Type> types;
  for (const Tensor& result : chosen.compute(parameters)) types.push_back(result.type());
  return types;
}

Tensors picked(std::span<const Tensor> values, const std::vector<size_t>& places) {
  Tensors all;
  for (const size_t place : places) all.push_back(values[place]);
  return all;
}

class BlockMaker {
 public:
  BlockMaker(std::vector<DrawnValue> parameters, std::span<const StepKind> kinds)
      : values_(std::move(parameters)), uses_(values_.size(), 0), kinds_(kinds) {
    block_.parameters = values_.size();
  }

  void add(const StepDescription& description) {
    const StepKind& kind = kinds_[description.kind % kinds_.size()];
    try {
      Chooser chooser(values_, description, kinds_);
      add(kind.name, kind.choose(chooser));
    } catch (const NothingFits&) {
      return;  // the step is omitted
    } catch (const Error& error) {
      throw ValueError("the step {} of a random program fails: {}\n{}", kind.name, error.what(),
                       block_.text());
    }
  }

  // At least one result is real, since the first parameter is.
  Block finish() {
    for (size_t i = block_.parameters; i < values_.size(); ++i) {
      if (uses_[i] == 0) block_.results.push_back(i);
    }
    const bool any_real = std::ranges::any_of(
        block_.results, [&](size_t i) { return is_inexact(values_[i].type.dtype()); });
    if (!any_real) block_.results.push_back(0);
    return block_;
  }

 private:
  void add(const std::string& kind, ChosenStep chosen) {
    Tensors here, nearby;
    std::vector<ir::Type> types;
    for (const size_t operand : chosen.operands) {
      here.push_back(values_[operand].here);
      nearby.push_back(values_[operand].nearby);
      types.push_back(values_[operand].type);
    }
    here = chosen.compute(here);
    nearby = chosen.compute(nearby);
    for (const Tensor& result : here) {
      const int64_t count = result.array().element_count();
      Chooser::need(result.rank() <= 3);
      Chooser::need(count > 0 && count <= kMostElements && std::isfinite(greatest_element(result)));
    }
    types = result_types(types, chosen);
    std::vector<double> scales;
    for (size_t i = 0; i < here.size(); ++i) {
      DrawnValue value{types[i], here[i], nearby[i]};
      scales.push_back(scale_of(value));
      if (scales[i] != 1) {
        value.here = value.here * scales[i];
        value.nearby = value.nearby * scales[i];
      }
      values_.push_back(std::move(value));
    }
    for (const size_t operand : chosen.operands) ++uses_[operand];
    uses_.resize(values_.size(), 0);
    block_.steps.push_back(
        {kind, chosen.operands, scaled(std::move(chosen.compute), scales), chosen.block});
  }

  static std::function<Tensors(std::span<const Tensor>)> scaled(
      std::function<Tensors(std::span<const Tensor>)> compute, const std::vector<double>& scales) {
    if (std::ranges::all_of(scales, [](double scale) { return scale == 1; })) return compute;
    return [compute = std::move(compute), scales](std::span<const Tensor> operands) {
      Tensors results = compute(operands);
      for (size_t i = 0; i < results.size(); ++i) {
        if (scales[i] != 1) results[i] = results[i] * scales[i];
      }
      return results;
    };
  }

  std::vector<DrawnValue> values_;
  std::vector<size_t> uses_;
  std::span<const StepKind> kinds_;
  Block block_;
};

// Random elements in [-2, 2), so that real ones are not equal by chance.
Tensor drawn_tensor(const ir::Type& type, const Sizes& sizes, std::mt19937_64& random) {
  Array array = Array::empty(DType::f64, sizes);
  for (double& element : array.writable_elements<double>()) {
    element = 4 * (static_cast<double>(random() >> 11) * 0x1p-53) - 2;
  }
  const Tensor numbers(std::move(array));
  if (type.dtype() == DType::boolean) return numbers > 0;
  if (type.dtype() == DType::c128) return make_complex(numbers, cos(numbers * 3));
  return type.dtype() == DType::i64 ? astype(floor(absolute(numbers) * 3.), DType::i64) : numbers;
}

std::vector<ir::Type> drawn_parameters(const std::vector<uint32_t>& numbers) {
  // The first one is also the smallest when rapidcheck shrinks.
  static const std::vector<std::string_view> texts = {
      "f64[n]",    "f64[]",        "f64[n, m]",    "f64[m]",    "f64[3]",    "f64[2, n]",
      "f64[n, n]", "f64[m, 3]",    "f64[1, n]",    "f64[m, 1]", "f64[3, 3]", "i64[n]",
      "bool[n]",   "f64[2, m, n]", "f64[n, m, 2]", "i64[]",     "i64[m, 2]", "bool[m]",
      "bool[]",    "f64[n, 2]",    "f64[2, 1, n]", "c128[n]",   "c128[2, 3]"};
  std::vector<ir::Type> types{parse_whole(texts[0], ir::parse_type)};
  for (const uint32_t number : numbers) {
    types.push_back(parse_whole(texts[number % texts.size()], ir::parse_type));
  }
  return types;
}

}  // namespace

Tensors Block::operator()(std::span<const Tensor> arguments) const {
  Tensors values(arguments.begin(), arguments.end());
  for (const Step& step : steps) {
    for (Tensor& result : step.compute(picked(values, step.operands))) {
      values.push_back(std::move(result));
    }
  }
  return picked(values, results);
}

std::string Block::text() const {
  std::string text = fmt::format("{} parameters;", parameters);
  for (const Step& step : steps) {
    text += fmt::format(" {}({})", step.kind, fmt::join(step.operands, ", "));
    if (step.block) text += fmt::format(" {{{}}}", step.block->text());
  }
  return text + fmt::format("; gives {}", fmt::join(results, ", "));
}

void Block::for_each_step(FunctionRef<void(const Step& step)> visit) const {
  for (const Step& step : steps) {
    visit(step);
    if (step.block) step.block->for_each_step(visit);
  }
}

bool Block::uses(std::string_view kind) const {
  bool found = false;
  for_each_step([&](const Step& step) { found = found || step.kind == kind; });
  return found;
}

uint32_t Chooser::below(uint32_t count) {
  need(count > 0);
  const uint32_t choice = next_ < step_.choices.size() ? step_.choices[next_] : 0;
  ++next_;
  return choice % count;
}

size_t Chooser::value(Fits fits) {
  std::vector<size_t> fitting;
  for (size_t i = values_.size(); i-- > 0;) {
    if (fits(values_[i].type)) fitting.push_back(i);
  }
  return fitting.empty() ? throw NothingFits()
                         : fitting[below(static_cast<uint32_t>(fitting.size()))];
}

size_t Chooser::of_dtype(DType dtype, size_t least_rank) {
  return value([&](const ir::Type& type) {
    return type.dtype() == dtype && type.shape().rank() >= least_rank;
  });
}
size_t Chooser::real(size_t least_rank) { return of_dtype(DType::f64, least_rank); }
size_t Chooser::like(size_t other) {
  return value([&](const ir::Type& type) { return type == values_[other].type; });
}

size_t Chooser::stretching(size_t other, DType dtype) {
  const Shape wanted = shape(other);
  return value([&](const ir::Type& type) {
    const Shape& given = type.shape();
    if (type.dtype() != dtype) return false;
    for (size_t i = 1; i <= std::min(given.rank(), wanted.rank()); ++i) {
      const Dim a = given[given.rank() - i], b = wanted[wanted.rank() - i];
      if (a != b && a != Dim(1) && b != Dim(1)) return false;
    }
    return true;
  });
}

int64_t Chooser::axis(size_t value) { return below(static_cast<uint32_t>(shape(value).rank())); }

std::shared_ptr<const Block> Chooser::block(std::span<const size_t> operands) {
  std::vector<DrawnValue> parameters;
  for (const size_t operand : operands) parameters.push_back(values_[operand]);
  BlockMaker maker(std::move(parameters), kinds_);
  for (const StepDescription& step : step_.inside) maker.add(step);
  return std::make_shared<const Block>(maker.finish());
}

void Chooser::need(bool truth) {
  if (!truth) throw NothingFits();
}

RandomProgram::RandomProgram(const ProgramDescription& description, std::span<const StepKind> kinds)
    : parameters_(drawn_parameters(description.parameters)), seed_(description.seed) {
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t more = i < description.sizes.size() ? description.sizes[i] : 0;
    sizes_.push_back(2 + (more + i) % 3);
  }
  const Tensors given = arguments();
  std::vector<DrawnValue> values;
  for (size_t i = 0; i < given.size(); ++i) {
    DrawnValue value{parameters_[i], given[i], given[i]};
    if (is_inexact(parameters_[i].dtype())) value.nearby = given[i] + kNearby * cos(9 * given[i]);
    values.push_back(std::move(value));
  }
  BlockMaker maker(std::move(values), kinds);
  for (const StepDescription& step : description.steps) maker.add(step);
  block_ = maker.finish();
}

Tensors RandomProgram::arguments(int64_t more) const {
  return arguments_of(std::max<int64_t>(sizes_[0] + more, 0),
                      std::max<int64_t>(sizes_[1] + 2 * more, 0));
}

std::array<RandomProgram::SmallSizes, 2> RandomProgram::small_sizes() const {
  return {{{0, seed_ % 3}, {1, seed_ / 3 % 3}}};
}

Tensors RandomProgram::arguments(SmallSizes sizes) const { return arguments_of(sizes.n, sizes.m); }

Tensors RandomProgram::arguments_of(int64_t n, int64_t m) const {
  const SymbolMap<int64_t> sizes{{Dim::symbol("n"), n}, {Dim::symbol("m"), m}};
  std::mt19937_64 random(seed_);
  Tensors all;
  for (const ir::Type& type : parameters_) {
    const std::vector<int64_t> each = type.shape().evaluate(sizes);
    all.push_back(drawn_tensor(type, Sizes(each), random));
  }
  return all;
}

ir::Program RandomProgram::traced(Function f) const { return traced(parameters_, f); }

ir::Program RandomProgram::traced(Function f, SmallSizes sizes) const {
  const SymbolMap<Dim> numbers{{Dim::symbol("n"), sizes.n}, {Dim::symbol("m"), sizes.m}};
  std::vector<ir::Type> types;
  for (const ir::Type& type : parameters_) types.push_back(type.substitute(numbers));
  return traced(types, f);
}

ir::Program RandomProgram::traced(const std::vector<ir::Type>& types, Function f) const {
  Trace trace("main");
  Tensors parameters;
  for (const ir::Type& type : types) parameters.push_back(trace.parameter(type));
  const RecordedFunction recorded = trace.finish(f(parameters));
  if (!recorded.captures.empty()) throw ValueError("a random program uses concrete tensors");
  return trace.program(recorded);
}

}  // namespace plait
