#include "plait/transform/inside/forms/loops/unrolled_scan.h"

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/indexing/index.h"
#include "plait/transform/inside/forms/loops/checkpointed.h"

namespace plait::control {
namespace {

// Several steps of the body, on stacked elements.
class Block {
 public:
  Block(const TensorFunction& body, size_t carries, const ScanOptions& options)
      : body_(body), carries_(carries), options_(options) {}

  Tensors operator()(std::span<const Tensor> given) const {
    Tensors carries(given.begin(), given.begin() + static_cast<std::ptrdiff_t>(carries_));
    std::vector<Tensors> outputs;  // for each output, by place
    for (int64_t step = 0; step < options_.unroll; ++step) {
      const int64_t place = options_.reverse ? options_.unroll - 1 - step : step;
      Tensors operands = carries;
      for (const Tensor& each : given.subspan(carries_)) operands.push_back(each[Index(place)]);
      const Tensors results = body_(operands);
      carries.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(carries_));
      outputs.resize(results.size() - carries_, Tensors(static_cast<size_t>(options_.unroll)));
      for (size_t i = 0; i < outputs.size(); ++i) {
        outputs[i][static_cast<size_t>(place)] = results[carries_ + i];
      }
    }
    for (const Tensors& each : outputs) carries.push_back(stack(each, 0));
    return carries;
  }

 private:
  const TensorFunction& body_;
  const size_t carries_;
  const ScanOptions& options_;
};

}  // namespace

// Steps that do not fill a block run one by one at the end.
Tensors unrolled_scan(const TensorFunction& body, std::span<const Tensor> initial,
                      std::span<const Tensor> stacked, Dim length, const ScanOptions& options) {
  const Dim blocks = floor_div(length, options.unroll), whole = blocks * options.unroll;
  const Dim rest = length - whole;
  Tensors chunks, left;
  for (const Tensor& each : stacked) {
    chunks.push_back(reshape(slice_axis(each, 0, options.reverse ? rest : 0, whole),
                             with_rows(Shape{blocks, options.unroll}, each, 1)));
    left.push_back(slice_axis(each, 0, options.reverse ? 0 : whole, rest));
  }
  Tensors results = control::scan(Block(body, initial.size(), options), initial, chunks,
                                  {.length = blocks, .reverse = options.reverse});
  for (size_t i = initial.size(); i < results.size(); ++i) {
    results[i] = reshape(results[i], with_rows(Shape{whole}, results[i], 2));
  }
  if (same(rest, Dim(0))) return results;
  Tensors ended = control::scan(body, std::span(results).first(initial.size()), left,
                                {.length = rest, .reverse = options.reverse});
  for (size_t i = initial.size(); i < results.size(); ++i) {
    const Tensor parts[] = {options.reverse ? ended[i] : results[i],
                            options.reverse ? results[i] : ended[i]};
    ended[i] = concat(parts, 0);
  }
  return ended;
}

}  // namespace plait::control
