#include "plait/transform/inside/forms/custom_rules/staged_host.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/inside/derivatives/again.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/programs.h"

namespace plait {
namespace {

// The companion of a function that is recorded within a trace with known values: it computes
// values, and passes decisions to that trace.
class Beside final : public Companion {
 public:
  explicit Beside(Trace& around) : around_(around) {}

  std::vector<Tensor> apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
                            const ir::Attributes& attributes) override {
    return apply_undifferentiated(primitive, operands, attributes);
  }
  std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) override {
    return plait::run(program, operands);
  }
  void on_read(const Tensor& value) override { around_.run().companion()->on_read(value); }
  void on_guard(bool, Location location) override {
    throw TypeError("a custom rule decides by a size that is known only after it has run")
        .at(location)
        .hint("decide outside of the function that has the rule");
  }
  bool handles_decision(const Tensor& truth, Location location) override {
    truths.push_back(truth);
    places.push_back(location);
    return true;
  }

  std::vector<Tensor> truths;
  std::vector<Location> places;

 private:
  Trace& around_;
};

// Notes on destruction, also when unwinding, whether the trace was asked for values.
struct WhenAsked {
  Trace& trace;
  bool& has_unknown_read;
  ~WhenAsked() { has_unknown_read = trace.run().has_unknown_read(); }
};

// Turns the function's decisions, its last results, into guards of the surrounding trace. A trace
// of pieces needs none: it reads the values at each call.
void decide_around(Trace& around, const StagedFunction& function, std::span<const Tensor> arguments,
                   std::span<const Location> places) {
  if (around.run().is_in_pieces()) return;
  std::vector<Tensor> given;
  for (const Tensor& argument : arguments) {
    const ir::Type& type = function.function->signature().parameters[given.size()];
    given.push_back(argument ? argument : zeros_of(OperandType(type)));
  }
  const control::Again again;
  const std::vector<Tensor> found = function(joined({given, function.captures}));
  for (size_t i = 0; i < places.size(); ++i) {
    const LocationScope place(places[i]);
    around.decide(found[found.size() - places.size() + i]);
  }
}

StagedFunction first_results(const StagedFunction& function, size_t count) {
  StagedFunction first = stage(function.function->name(), function.function->signature().parameters,
                               [&](std::span<const Tensor> given) {
                                 std::vector<Tensor> results = function(given);
                                 results.resize(count);
                                 return results;
                               });
  first.captures = function.captures;
  return first;
}

StagedFunction stage_with_numbers(const std::string& name, std::span<const ir::Type> parameters,
                                  const TensorFunction& function,
                                  std::span<const Tensor> arguments) {
  Trace& around = *Trace::current();
  std::vector<Tensor> actual;
  for (const Tensor& argument : arguments) {
    actual.push_back(argument ? underived(Trace::actual(argument)) : Tensor());
  }
  Beside beside(around);
  size_t count = 0;
  const auto with_truths = [&](std::span<const Tensor> given) {
    const std::vector<Tensor> results = function(given);
    count = results.size();
    return joined({results, beside.truths});
  };
  const StagedFunction all = stage(name, parameters, with_truths, {&beside, actual});
  if (beside.truths.empty()) return all;
  decide_around(around, all, arguments, beside.places);
  return first_results(all, count);
}

}  // namespace

StagedFunction stage_host(const std::string& name, std::span<const ir::Type> parameters,
                          const TensorFunction& function,
                          const std::function<std::vector<Tensor>()>& arguments) {
  Trace& around = *Trace::current();
  bool has_unknown_read = false;
  const auto noting = [&](std::span<const Tensor> given) {
    const WhenAsked note{*Trace::current(), has_unknown_read};
    return function(given);
  };
  try {
    StagedFunction staged = stage(name, parameters, noting);
    if (!has_unknown_read || around.run().companion() == nullptr) return staged;
  } catch (...) {
    if (!has_unknown_read) throw;
    if (around.run().companion() == nullptr) {
      around.run().note_unknown_read();  // an outer trace may know the values
      throw;
    }
  }
  return stage_with_numbers(name, parameters, function, arguments());
}

}  // namespace plait
