// Refusals of reshape.h and pad.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/reshape.h"

#include "refusals.h"

namespace plait {
namespace {}  // namespace

Refusals refusals_of_shape() {
  return {
      {"astype", [] { astype(f32(2), DType::key); }, kType, {"f32[2]", "key"}},
      {"astype", [] { astype(keys(2), DType::f32); }, kType, {"key[2]", "f32"}},
      {"astype", [] { astype(Tensor(), DType::f32); }, kValue, {"never given"}},
      {"broadcast_to", [] { broadcast_to(f32(2), {3}); }, kShape, {"f32[2]", "[3]"}},
      {"broadcast_to", [] { broadcast_to(f32(2, 2), {2}); }, kShape, {"f32[2, 2]", "[2]"}},
      {"broadcast_to", [] { broadcast_to(f32(1), {-1}); }, kShape, {"f32[1]", "[-1]"}},
      {"reshape", [] { reshape(f32(2, 3), {4}); }, kShape, {"f32[2, 3]", "[4]"}},
      {"reshape", [] { reshape(f32(2, 3), {-1, 4}); }, kShape, {"f32[2, 3]", "[-1, 4]"}},
      {"reshape", [] { reshape(f32(2, 3), {-1, -1}); }, kValue, {"f32[2, 3]", "[-1, -1]"}},
      {"reshape", [] { reshape(f32(2, 3), {-2, -3}); }, kShape, {"f32[2, 3]", "[-2, -3]"}},
      {"reshape", [] { reshape(f32(0), {-1, 0}); }, kValue, {"f32[0]", "[-1, 0]"}},
      {"permute_dims", [] { permute_dims(f32(2, 3), {0}); }, kValue, {"[0]", "f32[2, 3]"}},
      {"permute_dims", [] { permute_dims(f32(2, 3), {1, 1}); }, kValue, {"[1, 1]", "f32[2, 3]"}},
      {"permute_dims", [] { permute_dims(f32(2, 3), {0, 2}); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"matrix_transpose", [] { matrix_transpose(f32(2)); }, kShape, {"f32[2]"}},
      {"swapaxes", [] { swapaxes(f32(2, 3), 0, 2); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"swapaxes", [] { swapaxes(f32(2, 3), -3, 0); }, kIndex, {"axis -3", "f32[2, 3]"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), 0, 2); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), -3, 0); }, kIndex, {"axis -3", "f32[2, 3]"}},
      {"expand_dims", [] { expand_dims(f32(2), 2); }, kIndex, {"axis 2", "f32[2]"}},
      {"expand_dims", [] { expand_dims(f32(2), -3); }, kIndex, {"axis -3", "f32[2]"}},
      {"squeeze", [] { squeeze(f32(2, 1), 0); }, kShape, {"f32[2, 1]", "dimension 0"}},
      {"squeeze", [] { squeeze(f32(2, 1), 2); }, kIndex, {"axis 2", "f32[2, 1]"}},
      {"flatten", [] { flatten(Tensor()); }, kValue, {"never given"}},
      {"slice", [] { slice(f32(3), 1, {}); }, kIndex, {"axis 1", "f32[3]"}},
      {"slice", [] { slice(f32(3), 0, {.step = 0}); }, kValue, {"step", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 1, 0, 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 0, 2, 2); }, kIndex, {"2", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 0, -1, 1); }, kIndex, {"-1", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 0, 0, -1); }, kIndex, {"-1", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 0, 0, 2, 0); }, kValue, {"step", "f32[3]"}},
      {"slice_axis", [] { slice_axis(f32(3), 0, 0, 2, int64_t{1} << 62); }, kIndex, {"f32[3]"}},
      {"pad_zeros", [] { pad_zeros(f32(3), 1, 0, 0); }, kIndex, {"axis 1", "f32[3]"}},
      {"pad_zeros", [] { pad_zeros(f32(3), 0, -1, 0); }, kValue, {"-1", "f32[3]"}},
      {"pad_zeros", [] { pad_zeros(f32(3), 0, 0, -1); }, kValue, {"-1", "f32[3]"}},
      {"pad_zeros", [] { pad_zeros(f32(3), 0, 0, 0, 0); }, kValue, {"0", "f32[3]"}},
      {"pad_zeros", [] { pad_zeros(keys(3), 0, 1, 0); }, kType, {"key[3]"}},
      {"flip", [] { flip(f32(3), 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"concat", [] { concat(Tensors{}); }, kValue, {"at least one"}},
      {"concat", [] { concat(Tensors{f32(2), f32(2, 2)}); }, kShape, {"f32[2]", "f32[2, 2]"}},
      {"concat", [] { concat(Tensors{f32(2, 3), f32(2, 2)}); }, kShape, {"f32[2, 3]", "f32[2, 2]"}},
      {"concat", [] { concat(Tensors{f32(2), f32(2)}, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"concat", [] { concat(Tensors{f32(), f32()}); }, kIndex, {"axis 0", "f32[]"}},
      {"concat", [] { concat(Tensors{f32(2), keys(2)}); }, kType, {"f32[2]", "key[2]"}},
      {"concat", [] { concat(Tensors{f32(2), Tensor()}); }, kValue, {"never given"}},
      {"stack", [] { stack(Tensors{}); }, kValue, {"at least one"}},
      {"stack", [] { stack(Tensors{f32(2), f32(3)}); }, kShape, {"f32[2]", "f32[3]"}},
      {"stack", [] { stack(Tensors{f32(2), f32(2)}, 2); }, kIndex, {"axis 2", "f32[2]"}},
      {"stack", [] { stack(Tensors{f32(2), f32(2, 2)}, 1); }, kShape, {"f32[2]", "f32[2, 2]"}},
      {"stack", [] { stack(Tensors{f32(2), keys(2)}); }, kType, {"f32[2]", "key[2]"}},
      {"pad", [] { pad(f32(2), {{1, 1}, {1, 1}}); }, kShape, {"2 widths", "f32[2]"}},
      {"pad", [] { pad(f32(2), {{-1, 0}}); }, kValue, {"-1", "f32[2]"}},
      {"pad", [] { pad(f32(2), {{0, 2}}, PadMode::reflect); }, kValue, {"2", "reflect", "f32[2]"}},
      {"pad", [] { pad(f32(2), {{0, 3}}, PadMode::wrap); }, kValue, {"3", "wrap", "f32[2]"}},
      {"pad", [] { pad(f32(0), {{0, 1}}, PadMode::edge); }, kValue, {"1", "edge", "f32[0]"}},
      {"pad", [] { pad(keys(2), {{0, 1}}); }, kType, {"key[2]"}},
      {"pad", [] { pad(i64(2), {{0, 1}}, PadMode::constant, .5); }, kType, {"i64[2]"}},
      {"pad", [] { pad(f32(2), {{0, 1}}, static_cast<PadMode>(9)); }, kValue, {"f32[2]"}},
  };
}

TEST(Refusals, Shape) { expect_refused(refusals_of_shape()); }

}  // namespace plait
