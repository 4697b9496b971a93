#include "plait/transform/inside/jit/jit_backends.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

#include "plait/core/anomaly.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/tensor/array_machine.h"
#include "plait/transform/inside/jit/result_places.h"
#include "plait/transform/programs.h"

namespace plait {
namespace {

JitExecutable evaluated(const ir::Program& given, const JitOptions&) {
  return [program = ir::PreparedProgram(with_tapes(given))](const JitArguments& arguments) {
    ir::EvaluatorOptions options;
    options.on_guard = [](const ir::FailedGuard& failed) -> ir::GuardAnswer {
      throw SideExit{failed.number};
    };
    std::vector<Tensor> read(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      Tensor argument = arguments.take(i);
      if (program.reads(i)) read[i] = std::move(argument);
    }
    return evaluate_donated(program, std::move(read), options);
  };
}

bool uses_devices(const JitArguments& arguments) {
  return std::ranges::any_of(arguments.all(), [](const Tensor* argument) {
    return *argument && !argument->device().is_cpu();
  });
}

bool moves_to_devices(const ir::Program& program) {
  for (const auto& function : program.functions()) {
    for (const ir::Instruction instruction : function->instructions()) {
      const auto place_of = instruction.primitive().result_place;
      if (place_of == nullptr) continue;
      if (!place_of(instruction.attributes()).device.is_cpu()) return true;
    }
  }
  return false;
}

// The evaluator runs the program instead, instruction by instruction, with anomaly detection and
// where tensors are on devices.
JitBackend with_evaluator(JitBackend backend) {
  struct StepByStep {
    std::once_flag once;
    JitExecutable run;
  };
  return [backend = std::move(backend)](const ir::Program& program,
                                        const JitOptions& options) -> JitExecutable {
    if (moves_to_devices(program)) return evaluated(program, options);
    const auto step_by_step = std::make_shared<StepByStep>();
    return [whole = backend(program, options), places = ResultPlaces(program), step_by_step,
            program, options](const JitArguments& arguments) {
      if (!detects_anomaly() && !uses_devices(arguments)) {
        const std::vector<bool> are_unplaced = places.find(arguments);
        std::vector<Tensor> results = whole(arguments);
        ResultPlaces::set(results, are_unplaced);
        return results;
      }
      std::call_once(step_by_step->once, [&] { step_by_step->run = evaluated(program, options); });
      return step_by_step->run(arguments);
    };
  };
}

struct Backends {
  std::mutex mutex;
  std::map<std::string, JitBackend> by_name{{"compiler", compiler_backend()},
                                            {"evaluator", evaluated}};
};
Backends& backends() {
  static Immortal<Backends> backends;
  return *backends;
}

}  // namespace

void register_backend(const std::string& name, JitBackend backend) {
  const std::lock_guard lock(backends().mutex);
  backends().by_name[name] = std::move(backend);
}

std::vector<std::string> list_backends() {
  const std::lock_guard lock(backends().mutex);
  std::vector<std::string> names;
  for (const auto& [name, backend] : backends().by_name) names.push_back(name);
  return names;
}

JitBackend jits::backend_of(const std::string& name) {
  {
    const std::lock_guard lock(backends().mutex);
    const auto place = backends().by_name.find(name);
    if (place != backends().by_name.end()) return with_evaluator(place->second);
  }
  throw KeyError("jit: unknown backend \"{}\"; the backends are {}", name,
                 fmt::join(list_backends(), ", "))
      .hint("register_backend(name, …) adds one");
}

}  // namespace plait
