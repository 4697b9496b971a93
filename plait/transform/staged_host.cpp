#include "plait/transform/staged_host.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/derivation.h"
#include "plait/transform/derivative.h"
#include "plait/transform/derived_functions.h"
#include "plait/transform/programs.h"
#include "plait/transform/tensor_lists.h"

namespace plait {
namespace {

// Computes beside a function that is recorded within a trace with numbers, and leaves decisions to
// that trace.
class Beside final : public Companion {
 public:
  explicit Beside(Trace& around) : around_(around) {}

  std::vector<Tensor> apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
                            const ir::Attributes& attributes) override {
    return apply_unfollowed(primitive, operands, attributes);
  }
  std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) override {
    return plait::run(program, operands);
  }
  void on_read(const Tensor& value) override { around_.companion()->on_read(value); }
  void on_guard(bool, Location location) override {
    throw TypeError("a rule of one's own decides by a size that is known only once it has run")
        .at(location)
        .hint("decide outside of the function that has the rule");
  }
  bool takes_decision(const Tensor& truth, Location location) override {
    truths.push_back(truth);
    places.push_back(location);
    return true;
  }

  std::vector<Tensor> truths;
  std::vector<Location> places;

 private:
  Trace& around_;
};

// Says at its end, also of an exception's way, whether the trace was asked for numbers.
struct WhenAsked {
  const Trace& trace;
  bool& is_asked;
  ~WhenAsked() { is_asked = trace.is_asked(); }
};

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
  StagedFunction all = stage(name, parameters, with_truths, {&beside, actual});
  if (beside.truths.empty()) return all;

  std::vector<Tensor> given(arguments.begin(), arguments.end());
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) given[i] = zeros_of(OperandType(parameters[i]));
  }
  const control::Again again;
  const std::vector<Tensor> found = all(joined({given, all.captures}));
  for (size_t i = 0; i < beside.places.size(); ++i) {
    const LocationScope place(beside.places[i]);
    around.decide(found[count + i]);
  }
  std::vector<ir::Type> types(parameters.begin(), parameters.end());
  for (const Tensor& capture : all.captures) types.push_back(capture.type());
  StagedFunction results = stage(name, types, [&](std::span<const Tensor> taken) {
    std::vector<Tensor> each = all(taken);
    each.resize(count);
    return each;
  });
  results.captures = all.captures;
  return results;
}

}  // namespace

StagedFunction stage_host(const std::string& name, std::span<const ir::Type> parameters,
                          const TensorFunction& function,
                          const std::function<std::vector<Tensor>()>& arguments) {
  Trace& around = *Trace::current();
  bool is_asked = false;
  const auto noting = [&](std::span<const Tensor> given) {
    const WhenAsked note{*Trace::current(), is_asked};
    return function(given);
  };
  try {
    StagedFunction staged = stage(name, parameters, noting);
    if (!is_asked || around.companion() == nullptr) return staged;
  } catch (...) {
    if (!is_asked) throw;
    if (around.companion() == nullptr) {
      around.note_asked();  // there may be numbers further out
      throw;
    }
  }
  return stage_with_numbers(name, parameters, function, arguments());
}

}  // namespace plait
