// Refusals of rearrange.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/rearrange.h"

#include "refusals.h"

namespace plait {
namespace {

using Integers = std::vector<int64_t>;

}  // namespace

Refusals refusals_of_rearrange() {
  return {
      {"transpose", [] { transpose(f32(2, 3), Integers{0}); }, kValue, {"[0]", "f32[2, 3]"}},
      {"transpose", [] { transpose(f32(2, 3), Integers{0, 0}); }, kValue, {"[0, 0]", "f32[2, 3]"}},
      {"transpose", [] { transpose(f32(2, 3), Integers{0, 2}); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"transpose", [] { transpose(Tensor()); }, kValue, {"never given"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), {0, 0}, {0, 1}); }, kValue, {"[0, 0]", "f32[2, 3]"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), {0, 1}, {0, 0}); }, kValue, {"[0, 0]", "f32[2, 3]"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), {0, 1}, {0}); }, kValue, {"[0, 1]", "[0]"}},
      {"moveaxis", [] { moveaxis(f32(2, 3), {2}, {0}); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"atleast_1d", [] { atleast_1d(Tensor()); }, kValue, {"never given"}},
      {"atleast_2d", [] { atleast_2d(Tensor()); }, kValue, {"never given"}},
      {"atleast_3d", [] { atleast_3d(Tensor()); }, kValue, {"never given"}},
      {"dstack", [] { dstack(Tensors{}); }, kValue},
      {"dstack", [] { dstack(Tensors{f32(2), f32(3)}); }, kShape, {"f32[2]", "f32[3]"}},
      {"column_stack", [] { column_stack(Tensors{}); }, kValue},
      {"column_stack", [] { column_stack(Tensors{f32(2), f32(3)}); }, kShape, {"f32[2]"}},
      {"channel_shuffle", [] { channel_shuffle(f32(4, 1), 2); }, kShape, {"f32[4, 1]"}},
      {"channel_shuffle", [] { channel_shuffle(f32(5, 1, 1), 2); }, kShape, {"5", "2"}},
      {"channel_shuffle", [] { channel_shuffle(f32(4, 1, 1), 0); }, kValue, {"0"}},
      {"repeat", [] { repeat(f32(2), f32(2), 0); }, kType, {"f32[2]", "counts"}},
      {"repeat", [] { repeat(f32(2), i64(3), 0, 2); }, kShape, {"f32[2]", "i64[3]"}},
      {"repeat", [] { repeat(f32(2), i64(2), 1, 2); }, kIndex, {"axis 1", "f32[2]"}},
      {"repeat", [] { repeat(f32(2), i64(2), 0, 4); }, kIndex, {"f32[2]", "i64[2]"}},
      {"repeat", [] { repeat(f32(2), i64(2) - 2, 0, 1); }, kIndex, {"f32[2]", "i64[2]"}},
      {"unflatten", [] { unflatten(f32(6), 0, {4, 2}); }, kShape, {"f32[6]", "[4, 2]"}},
      {"unflatten", [] { unflatten(f32(6), 0, {-1, 4}); }, kShape, {"f32[6]", "[-1, 4]"}},
      {"unflatten", [] { unflatten(f32(6), 0, {-1, -1}); }, kShape, {"f32[6]", "[-1, -1]"}},
      {"unflatten", [] { unflatten(f32(6), 0, {-2, -3}); }, kShape, {"f32[6]", "[-2, -3]"}},
      {"unflatten", [] { unflatten(f32(6), 1, {2, 3}); }, kIndex, {"axis 1", "f32[6]"}},
      {"split", [] { split(f32(5), 2); }, kValue, {"f32[5]", "2"}},
      {"split", [] { split(f32(5), 0); }, kValue, {"f32[5]", "0 parts"}},
      {"split", [] { split(f32(5), -1); }, kValue, {"f32[5]", "-1 parts"}},
      {"split", [] { split(f32(5), 1, 1); }, kIndex, {"axis 1", "f32[5]"}},
      {"split_at", [] { split_at(f32(5), {3, 2}); }, kValue, {"f32[5]", "[3, 2]"}},
      {"split_at", [] { split_at(f32(5), {6}); }, kValue, {"f32[5]", "[6]"}},
      {"split_at", [] { split_at(f32(5), {-1}); }, kValue, {"f32[5]", "[-1]"}},
      {"split_at", [] { split_at(f32(5), {1}, 1); }, kIndex, {"axis 1", "f32[5]"}},
      {"chunk", [] { chunk(f32(5), 0); }, kValue, {"f32[5]", "0 parts"}},
      {"chunk", [] { chunk(f32(5), 2, 1); }, kIndex, {"axis 1", "f32[5]"}},
      {"unstack", [] { unstack(f32(5), 1); }, kIndex, {"axis 1", "f32[5]"}},
      {"unstack", [] { unstack(f32()); }, kIndex, {"axis 0", "f32[]"}},
      {"vstack", [] { vstack(Tensors{}); }, kValue, {"at least one"}},
      {"vstack", [] { vstack(Tensors{f32(2), f32(3)}); }, kShape, {"f32[2]", "f32[3]"}},
      {"vstack", [] { vstack(Tensors{f32(2), keys(2)}); }, kType, {"f32[2]", "key[2]"}},
      {"hstack", [] { hstack(Tensors{}); }, kValue, {"at least one"}},
      {"hstack", [] { hstack(Tensors{f32(2, 2), f32(3, 2)}); }, kShape, {"f32[2, 2]", "f32[3, 2]"}},
      {"hstack", [] { hstack(Tensors{f32(2), f32(2, 2)}); }, kShape, {"f32[2]", "f32[2, 2]"}},
      {"hstack", [] { hstack(Tensors{f32(2), keys(2)}); }, kType, {"f32[2]", "key[2]"}},
      {"broadcast_arrays",
       [] { broadcast_arrays(Tensors{f32(2), f32(3)}); },
       kShape,
       {"f32[2]", "f32[3]"}},
      {"broadcast_arrays", [] { broadcast_arrays(Tensors{f32(2), Tensor()}); }, kValue, {"f32[2]"}},
      {"tile", [] { tile(f32(2), {-1}); }, kValue, {"f32[2]", "-1"}},
      {"tile", [] { tile(Tensor(), {1}); }, kValue, {"never given"}},
      {"repeat", [] { repeat(f32(2), -1, 0); }, kValue, {"f32[2]", "-1"}},
      {"repeat", [] { repeat(f32(2), 1, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"roll", [] { roll(f32(2), 1, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"roll", [] { roll(f32(0), 1, 1); }, kIndex, {"axis 1", "f32[0]"}},
      {"roll", [] { roll(f32(2), Integers{1, 2}, Integers{0}); }, kValue, {"2 shifts", "f32[2]"}},
      {"roll", [] { roll(f32(2), Integers{1}, Integers{1}); }, kIndex, {"axis 1", "f32[2]"}},
      {"rot90", [] { rot90(f32(2, 3), 1, 0, 0); }, kValue, {"axis 0", "f32[2, 3]"}},
      {"rot90", [] { rot90(f32(2, 3), 1, 0, -2); }, kValue, {"axis -2", "f32[2, 3]"}},
      {"rot90", [] { rot90(f32(2, 3), 1, 0, 2); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"rot90", [] { rot90(f32(2)); }, kIndex, {"axis 1", "f32[2]"}},
      {"pixel_shuffle", [] { pixel_shuffle(f32(4, 2), 2); }, kShape, {"f32[4, 2]"}},
      {"pixel_shuffle", [] { pixel_shuffle(f32(5, 2, 2), 2); }, kShape, {"f32[5, 2, 2]"}},
      {"pixel_shuffle", [] { pixel_shuffle(f32(4, 2, 2), 0); }, kValue, {"factor", "0"}},
      {"pixel_unshuffle", [] { pixel_unshuffle(f32(4, 2), 2); }, kShape, {"f32[4, 2]"}},
      {"pixel_unshuffle", [] { pixel_unshuffle(f32(1, 3, 2), 2); }, kShape, {"f32[1, 3, 2]"}},
      {"pixel_unshuffle", [] { pixel_unshuffle(f32(1, 2, 2), -2); }, kValue, {"factor", "-2"}},
  };
}

TEST(Refusals, Rearrange) { expect_refused(refusals_of_rearrange()); }

}  // namespace plait
