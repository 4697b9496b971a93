#include "plait/ops/effects/callback.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <unordered_map>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/ir/inference.h"
#include "plait/ir/structure.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/samples.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/effect_log.h"
#include "plait/tensor/inside/tracing/trace.h"

namespace plait {
namespace {

struct Kept {
  std::mutex mutex;
  std::unordered_map<int64_t, std::shared_ptr<const TensorFunction>> functions;
  std::random_device numbers;
};
Kept& kept() {
  static Immortal<Kept> kept;
  return *kept;
}

std::shared_ptr<const TensorFunction> kept_function(int64_t number) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto place = all.functions.find(number);
  if (place != all.functions.end()) return place->second;
  throw KeyError("this process has no host function {}", number)
      .hint("a program that calls host code runs only in the process that recorded it");
}

// Calls the function and checks that its results have these types.
std::vector<Array> called(const TensorFunction& function, std::span<const Tensor> operands,
                          std::span<const ArrayType> types) {
  const std::vector<Tensor> given = function(operands);
  if (given.size() != types.size()) {
    throw ValueError("the function returned {} tensors instead of {}", given.size(), types.size());
  }
  std::vector<Array> results;
  for (size_t i = 0; i < types.size(); ++i) {
    const Array& result = given[i].array();
    if (result.dtype() != types[i].dtype || result.sizes() != types[i].sizes) {
      const auto wanted = ir::Type::array(types[i].dtype, Shape::of_sizes(types[i].sizes));
      throw ShapeError("the function returned a {} instead of a {} (result {})",
                       given[i].type().text(), wanted.text(), i);
    }
    results.push_back(result);
  }
  return results;
}

void call_now(KernelCall& call, const void*) {
  const auto& attributes = call.attributes.as<CallbackAttributes>();
  const auto function = kept_function(attributes.function);
  const auto axes = static_cast<size_t>(attributes.samples);
  std::vector<ArrayType> of_one(call.types.begin(), call.types.end());
  for (ArrayType& type : of_one) {
    type.sizes = Sizes(std::span(type.sizes.begin(), type.sizes.end()).subspan(axes));
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    call.new_result(i);
  }
  EffectLog::once(call, [&] {
    for_each_sample(call.operands, attributes.samples, [&](auto operands, auto place) {
      std::vector<Tensor> given;
      for (const Array& operand : operands) given.push_back(Tensor(operand));
      const std::vector<Array> results = called(*function, given, of_one);
      for (size_t i = 0; i < results.size(); ++i) {
        Layout layout = call.results[i].layout();
        for (const int64_t index : place) layout = layout.picked(0, index);
        Array part = call.results[i].view(std::move(layout));
        copy_elements(results[i], part);
      }
    });
  });
}

// Zero tangents would be wrong.
std::vector<Tensor> refuse_tangents(const RuleContext& context, std::span<const Tensor>) {
  const auto& results = context.attributes.as<CallbackAttributes>().results;
  if (std::ranges::any_of(results, ir::has_tangent)) {
    throw TypeError("callback: a host function has no derivative")
        .at(Location::of_caller())
        .hint(
            "custom_vjp and custom_jvp define one; stop_gradient treats the result as a constant");
  }
  return std::vector<Tensor>(results.size());
}

struct CallbackTable;
const CallbackTable& callback_ops();

struct CallbackTable {
  const ir::Primitive& callback = declare(
      {.primitive = {.name = "callback",
                     .summary = "The results of a host function for the operands.",
                     .oracle = "numpy.floor, for a function that rounds down",
                     .attributes = &ir::schema_of<CallbackAttributes>(),
                     .operands = ir::at_least(0),
                     .infer =
                         [](ir::Inference& in) {
                           const auto& attributes = in.attributes_as<CallbackAttributes>();
                           for (size_t i = 0; i < in.operands.size(); ++i) {
                             in.expect_array(i, kAllDTypes);
                           }
                           expect_samples(in, attributes.samples);
                           if (in.operands.empty() && attributes.samples != 0) {
                             in.fail("the number of samples does not follow from the operands");
                           }
                           const auto samples = in.operands.empty()
                                                    ? std::span<const Dim>()
                                                    : in.array(0).shape().dims().first(
                                                          static_cast<size_t>(attributes.samples));
                           for (const ir::Type& type : attributes.results) {
                             if (!type.is_array()) in.fail("returns arrays, not {}", type.text());
                             std::vector<Dim> dims(samples.begin(), samples.end());
                             dims.insert(dims.end(), type.shape().begin(), type.shape().end());
                             in.give(ir::Type::array(type.dtype(), Shape(dims)));
                           }
                         },
                     .effects = [](const ir::Instruction&) -> ir::Effects {
                       return {.observable = true, .may_fail = true};
                     }},
       .rules = {.tangents = {.of = refuse_tangents},
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_over_samples<CallbackAttributes>(callback_ops().callback, a,
                                                                 operands, batched);
                 }}},
       .evaluator = call_now});
};
const CallbackTable& callback_ops() {
  static const CallbackTable table;
  return table;
}

// Unregisters the function of a single eager call.
class ForgottenAfterwards {
 public:
  explicit ForgottenAfterwards(int64_t number) : number_(number) {}
  ~ForgottenAfterwards() {
    const std::lock_guard lock(kept().mutex);
    kept().functions.erase(number_);
  }
  ForgottenAfterwards(const ForgottenAfterwards&) = delete;
  ForgottenAfterwards& operator=(const ForgottenAfterwards&) = delete;

 private:
  int64_t number_;
};

}  // namespace

// The number is random, so that a program from elsewhere cannot call a function of this process.
int64_t keep_callback(TensorFunction function) {
  Kept& all = kept();
  const std::lock_guard lock(all.mutex);
  const auto kept = std::make_shared<const TensorFunction>(std::move(function));
  for (;;) {
    const uint64_t bits = uint64_t{all.numbers()} << 32 | all.numbers();
    const auto number = static_cast<int64_t>(bits >> 1);
    if (all.functions.try_emplace(number, kept).second) return number;
  }
}

std::vector<Tensor> call_back(int64_t function, std::span<const Tensor> operands,
                              std::span<const ir::Type> results) {
  const Call call("call_back", operands);
  kept_function(function);
  return apply_all(callback_ops().callback, operands,
                   ir::Attributes::of(CallbackAttributes{
                       .function = function, .results = {results.begin(), results.end()}}));
}

std::vector<Tensor> callback(const TensorFunction& function, std::span<const Tensor> operands,
                             std::span<const ir::Type> results) {
  const Call call("callback", operands);
  const int64_t number = keep_callback(function);
  const auto is_derived = [](const Tensor& x) { return x.derivation() != nullptr; };
  const bool is_kept = Trace::current() != nullptr || std::ranges::any_of(operands, is_derived);
  if (is_kept) return call_back(number, operands, results);
  const ForgottenAfterwards function_of_one_call(number);
  return call_back(number, operands, results);
}

void register_callback() { callback_ops(); }

}  // namespace plait
