#include "plait/cuda/inside/elementwise/transposed_copy.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "plait/cuda/inside/kernels/launch.h"

namespace plait::cuda {
namespace {

constexpr size_t kMostOuter = 4;
constexpr int64_t kTile = 32;
constexpr int64_t kTileRows = 8;  // that the threads of a block move together

// Loops around a matrix; the rest have size 1.
struct OuterLoops {
  int64_t sizes[kMostOuter] = {1, 1, 1, 1};
  int64_t from[kMostOuter] = {}, to[kMostOuter] = {};
};

// A tile is read along the rows of the source, whose columns are rows of the target. A column more
// in shared memory keeps its accesses in different banks.
constexpr const char* kText = R"(
struct OuterLoops {{
  i64 sizes[4], from[4], to[4];
}};
extern "C" __global__ void __launch_bounds__(256) plait_transpose(const {0}* from, {0}* to, i64 rows,
    i64 columns, i64 from_stride, i64 to_stride, OuterLoops outer) {{
  __shared__ {0} tile[32][33];
  const i64 row_tiles = (rows + 31) / 32, column_tiles = (columns + 31) / 32;
  i64 rest = blockIdx.x;
  const i64 column_tile = rest % column_tiles;
  rest /= column_tiles;
  const i64 row_tile = rest % row_tiles;
  rest /= row_tiles;
  i64 from_offset = 0, to_offset = 0;
  for (int k = 3; k >= 0; --k) {{
    const i64 next = rest / outer.sizes[k], index = rest - next * outer.sizes[k];
    from_offset += index * outer.from[k];
    to_offset += index * outer.to[k];
    rest = next;
  }}
  const int x = threadIdx.x % 32, y = threadIdx.x / 32;
  for (int k = y; k < 32; k += 8) {{
    const i64 row = row_tile * 32 + x, column = column_tile * 32 + k;
    if (row < rows && column < columns) tile[k][x] = from[from_offset + column * from_stride + row];
  }}
  __syncthreads();
  for (int k = y; k < 32; k += 8) {{
    const i64 row = row_tile * 32 + k, column = column_tile * 32 + x;
    if (row < rows && column < columns) to[to_offset + row * to_stride + column] = tile[x][k];
  }}
}}
)";

const std::string& text_of(int64_t element_size) {
  static const std::array<std::string, 5> texts = {
      fmt::format(kText, "u8"), fmt::format(kText, "u16"), fmt::format(kText, "u32"),
      fmt::format(kText, "u64"), fmt::format(kText, "key")};
  size_t log = 0;
  while (int64_t{1} << log < element_size) ++log;
  return texts[log];
}

}  // namespace

bool copy_transposed(CudaDevice& device, std::span<const LoopDimension> loops, int64_t element_size,
                     Address from, Address to) {
  if (loops.size() < 2 || loops.size() > kMostOuter + 2) return false;
  const LoopDimension& columns = loops.back();
  if (columns.strides[1] != 1 || columns.strides[0] == 0 || columns.strides[0] == 1) return false;
  const auto rows = std::ranges::find_if(
      loops, [](const LoopDimension& d) { return d.strides[0] == 1 && d.strides[1] != 0; });
  if (rows == loops.end() || rows->size < kTileRows || columns.size < kTileRows) return false;
  OuterLoops outer;
  size_t next = 0;
  int64_t count = 1;
  for (const LoopDimension& loop : loops.first(loops.size() - 1)) {
    if (&loop == &*rows) continue;
    outer.sizes[next] = loop.size;
    outer.from[next] = loop.strides[0];
    outer.to[next++] = loop.strides[1];
    count *= loop.size;
  }
  const auto tiles = [](int64_t size) { return (size + kTile - 1) / kTile; };
  launch(device, kernel(device, "plait_transpose", text_of(element_size)),
         {tiles(rows->size) * tiles(columns.size) * count}, static_cast<int>(kTile * kTileRows), 0,
         from, to, rows->size, columns.size, columns.strides[0], rows->strides[1], outer);
  return true;
}

}  // namespace plait::cuda
