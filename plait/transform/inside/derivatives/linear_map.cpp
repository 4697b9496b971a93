#include "plait/transform/inside/derivatives/linear_map.h"

#include "plait/ir/structure.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait {

std::vector<Tensor> transpose_map(std::span<const OperandType> arguments, const TensorFunction& map,
                                  std::span<const Tensor> cotangents) {
  Pullback pullback(Level::open_transposing());
  std::vector<Tensor> at_zero, arriving;
  std::vector<bool> moves;
  for (const OperandType& type : arguments) {
    moves.push_back(ir::has_tangent(type.type()));
    at_zero.push_back(moves.back() ? pullback.begin(zeros_of(type)) : Tensor());
  }
  const std::vector<Tensor> results = map(at_zero);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) continue;
    pullback.finish(results[i]);
    arriving.push_back(cotangents[i]);
  }
  pullback.close();
  pullback.expect_linear();
  return spread(pullback(arriving, false), moves);
}

}  // namespace plait
