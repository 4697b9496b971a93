// The time until a training step can run, phase by phase, and the time of its parts:
//
//   first_call vit_train|gpt_train [--batch N] [--bf16] [--steps N] [--again N]
//
// prints one line of JSON. --steps also prints the N kinds of steps that take the most time;
// --again records and compiles N times more, for a profiler. A process measures once, since kernels
// live as long as the process: `bench_plait.py --first` runs it with an empty PLAIT_CACHE, and
// again with the filled one.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/format.h>

#include "plait/compile/compiler.h"
#include "plait/compile/inside/running/compiled_access.h"
#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"
#include "plait/core/function_ref.h"
#include "plait/ir/primitive.h"
#include "plait/optim/adam.h"
#include "plait/optim/sgd.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/autocast.h"
#include "plait/transform/programs.h"

#include "examples/models/gpt.h"
#include "examples/models/training.h"
#include "examples/models/vit.h"

namespace {

using namespace plait;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsage =
    "usage: first_call vit_train|gpt_train [--batch N] [--bf16] [--steps N] [--again N]\n";

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class Work>
auto timed(double& seconds, const Work& work) {
  const auto start = Clock::now();
  auto result = work();
  seconds = seconds_since(start);
  return result;
}

struct TrainingStep {
  std::vector<Tensor> arguments;
  std::function<TracedProgram()> record;
};

template <class Model, class Optimizer>
TrainingStep step_of(const Model& model, const Optimizer& optimizer, const Tensor& x,
                     const Tensor& y, bool is_narrow) {
  const auto step = [is_narrow](const auto&... arguments) {
    std::optional<Autocast> narrow;
    if (is_narrow) narrow.emplace();
    return models::step<Model, Optimizer>(arguments...);
  };
  const std::tuple given(model, optimizer, x, y);
  return {tensors_of(given), [=] { return std::apply(trace(step), given); }};
}

// Times of a plan by the kind of step; equal kernels are added up.
class StepTimes : public compile::StepObserver {
 public:
  explicit StepTimes(const compile::Plan& plan) : plan_(plan) {}

  void before(const compile::PlannedFunction&, const compile::Step&,
              const compile::Frame&) override {
    start_ = Clock::now();
  }
  void after(const compile::PlannedFunction& function, const compile::Step& step,
             const compile::Frame&) override {
    const double seconds = seconds_since(start_);
    Sum& sum = sums_[kind_of(function, step)];
    sum.seconds += seconds;
    ++sum.steps;
    all_ += seconds;
  }

  void print(size_t count) const {
    std::vector<std::pair<std::string, Sum>> sorted(sums_.begin(), sums_.end());
    std::ranges::sort(sorted, std::greater(), [](const auto& each) { return each.second.seconds; });
    if (sorted.size() > count) sorted.resize(count);
    for (const auto& [kind, sum] : sorted) {
      fmt::print("{:9.3f} ms {:5.1f} % {:4} times  {}\n", 1e3 * sum.seconds,
                 100 * sum.seconds / all_, sum.steps, kind);
    }
  }

 private:
  struct Sum {
    double seconds = 0;
    int64_t steps = 0;
  };

  std::string kind_of(const compile::PlannedFunction& function, const compile::Step& step) const {
    std::string results, operands;
    for (const compile::Register r : step.results) {
      results += " " + function.registers[r].type.text();
    }
    for (const compile::Register r : step.operands) {
      operands += " " + function.registers[r].type.text();
    }
    const auto* const kernel_step = step.as<compile::KernelStep>();
    if (kernel_step == nullptr) {
      const compile::Operation* const operation = step.operation();
      const std::string_view name =
          operation != nullptr ? std::string_view(operation->primitive->name) : step.name();
      return fmt::format("{} of{} to{}", name, operands, results);
    }
    const compile::PlannedKernel& kernel = plan_.kernels[kernel_step->kernel];
    std::map<std::string_view, int> primitives;
    for (const ir::Instruction each : kernel.function->instructions()) {
      ++primitives[each.primitive().name];
    }
    std::string names;
    for (const auto& [name, times] : primitives) {
      names += times > 1 ? fmt::format(" {} × {}", times, name) : fmt::format(" {}", name);
    }
    return fmt::format("kernel [{}] of{} to{}", names.substr(1), operands, results);
  }

  const compile::Plan& plan_;
  Clock::time_point start_;
  std::map<std::string, Sum> sums_;
  double all_ = 0;
};

struct Arguments {
  std::string_view name;
  int64_t batch = 8;
  bool is_narrow = false;
  int64_t steps = 0, again = 0;
};

TrainingStep step_of(const Arguments& given) {
  const Tensor key = random::key(1);
  if (given.name == "vit_train") {
    const auto model = models::Vit::init(key);
    const Tensor x = random::normal(key, {given.batch, 3, 224, 224});
    const Tensor y = random::randint(key, {given.batch}, 0, 1000);
    return step_of(model, optim::SGD(model, {.lr = 1e-3}), x, y, given.is_narrow);
  }
  const auto model = models::Gpt::init(key);
  const Tensor ids = random::randint(key, {given.batch, 256}, 0, 256);
  return step_of(model, optim::AdamW(model, {.lr = 3e-4}), ids, ids, given.is_narrow);
}

// Runs the passes; `note` receives the name and seconds of each phase.
ir::Program optimized(const ir::Program& program,
                      FunctionRef<void(std::string_view phase, double seconds)> note) {
  double seconds = 0;
  ir::Program made = timed(seconds, [&] { return with_tapes(program); });
  note("with_tapes", seconds);
  for (const compile::Pass& pass : compile::passes()) {
    if (pass.run == nullptr || !compile::is_on(pass.name)) continue;
    made = timed(seconds, [&] { return pass.run(made); });
    note(pass.name, seconds);
  }
  return made;
}

void measure(const Arguments& given) {
  double trace = 0, compile = 0;
  auto [arguments, record] = step_of(given);
  const auto [program, hidden] = timed(trace, record);
  arguments.insert(arguments.end(), hidden.begin(), hidden.end());
  std::string line = fmt::format(R"("trace": {:.4f})", trace);
  const auto note = [&](std::string_view phase, double seconds) {
    line += fmt::format(R"(, "{}": {:.4f})", phase, seconds);
    compile += seconds;
  };
  const auto start = Clock::now();
  const compile::Target* const target = compile::find_target(Device::Kind::cpu);  // loads LLVM
  note("load", seconds_since(start));
  const ir::Program made = optimized(program, note);
  double with_kernels = 0, plan_alone = 0;
  const compile::Plan plan = timed(with_kernels, [&] { return compile::plan_of(made, target); });
  timed(plan_alone,
        [&] { return compile::plan_of(made, target); });  // its kernels are compiled already
  note("plan", plan_alone);
  note("emit", with_kernels - plan_alone);
  const compile::Compiled compiled(program);
  const auto run = [&, &arguments = arguments] { return compiled(arguments); };
  double first = 0, second = 0;
  timed(first, run);
  timed(second, run);
  const auto frame = compile::LoadedPlan(plan).bound(0, {});
  fmt::print(
      R"({{"case": "{}", "batch": {}, "dtype": "{}", {}, "compile": {:.4f}, "all": {:.4f}, )"
      R"("first_run": {:.4f}, "second_run": {:.4f}, "instructions": {}, "behind_passes": {}, )"
      R"("steps": {}, "kernels": {}, "frame_mb": {}}})"
      "\n",
      given.name, given.batch, given.is_narrow ? "bf16" : "fp32", line, compile, trace + compile,
      first, second, program.entry().size(), made.entry().size(), plan.functions[0].steps.size(),
      plan.kernels.size(), frame->frame_bytes >> 20);
  std::fflush(stdout);
  if (given.steps > 0) {
    StepTimes times(compile::CompiledAccess::plan(compiled));
    compile::CompiledAccess::run(compiled, arguments, {.observer = &times});
    times.print(static_cast<size_t>(given.steps));
  }
  for (int64_t i = 0; i < given.again; ++i) {
    compile::plan_of(optimized(record().program, [](std::string_view, double) {}), target);
  }
}

// Returns nothing unless the text is a number above 0.
std::optional<int64_t> number_from(const char* text) {
  char* end = nullptr;
  const int64_t number = std::strtoll(text, &end, 10);
  if (end == text || *end != '\0' || number < 1) return std::nullopt;
  return number;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

std::optional<Arguments> parsed(int count, char** words) {
  Arguments given;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (is_one_of(word, {"vit_train", "gpt_train"})) {
      given.name = word;
    } else if (word == "--bf16") {
      given.is_narrow = true;
    } else if (is_one_of(word, {"--batch", "--steps", "--again"}) && i + 1 < count) {
      const auto number = number_from(words[++i]);
      if (!number) return std::nullopt;
      (word == "--batch" ? given.batch : word == "--steps" ? given.steps : given.again) = *number;
    } else {
      return std::nullopt;
    }
  }
  if (given.name.empty()) return std::nullopt;
  return given;
}

}  // namespace

int main(int count, char** words) try {
  if (count == 2 && std::string_view(words[1]) == "--help") {
    fmt::print("{}", kUsage);
    return 0;
  }
  const auto given = parsed(count, words);
  if (!given) {
    fmt::print(stderr, "{}", kUsage);
    return 2;
  }
  measure(*given);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
