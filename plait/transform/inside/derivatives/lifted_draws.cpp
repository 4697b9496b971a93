#include "plait/transform/inside/derivatives/lifted_draws.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait {

TensorFunction with_key(const StagedFunction& function) {
  return [function](std::span<const Tensor> given) {
    const Tensor& key = given.back();
    int64_t drawn = 0;
    const RunOptions options{.draw_key = [&] { return random::fold_in(key, drawn++); }};
    return function(joined({given.first(given.size() - 1), function.captures}), options);
  };
}

namespace control {

Tensors while_with_keys(const TensorFunction& test, const TensorFunction& body,
                        std::span<const Tensor> initial, const Tensor& key) {
  const Tensor first = full({}, 0, DType::i64);
  const auto with_own = [&](std::span<const Tensor> given, int64_t which) {
    const Tensor own = random::fold_in(random::fold_in(key, which), given.back());
    return joined({given.first(given.size() - 1), {&own, 1}});
  };
  const TensorFunction numbered_test = [&](std::span<const Tensor> given) {
    return test(with_own(given, 0));
  };
  const TensorFunction numbered_body = [&](std::span<const Tensor> given) {
    Tensors next = body(with_own(given, 1));
    next.push_back(given.back() + 1);
    return next;
  };
  Tensors results =
      control::while_loop(numbered_test, numbered_body, joined({initial, {&first, 1}}));
  results.pop_back();
  return results;
}

Tensors scan_with_keys(const TensorFunction& body, std::span<const Tensor> initial,
                       std::span<const Tensor> stacked, const ScanOptions& options,
                       const Tensor& key) {
  const Tensor step_numbers = numbers(0, *options.length);
  const TensorFunction numbered = [&](std::span<const Tensor> given) {
    const Tensor own = random::fold_in(key, given.back());
    return body(joined({given.first(given.size() - 1), {&own, 1}}));
  };
  return control::scan(numbered, initial, joined({stacked, {&step_numbers, 1}}), options);
}

}  // namespace control

}  // namespace plait
