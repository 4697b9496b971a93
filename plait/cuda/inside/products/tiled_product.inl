R"cuda(
// Above: ProductElement, ProductResult, ProductSum, kEach. A block of 16 x 16 threads computes a tile of the result, in which
// thread (x, y) has the rows y + 16 i and the columns x + 16 j.
typedef Memory<ProductElement>::Value ProductValue;
enum { kSide = 16, kTile = kSide * kEach, kSteps = 16 };

INLINE void add_product(u32& sum, u32 a, u32 b) { sum += a * b; }
INLINE void add_product(u64& sum, u64 a, u64 b) { sum += a * b; }
INLINE void add_product(f32& sum, f32 a, f32 b) { sum = fmaf(a, b, sum); }
INLINE void add_product(f64& sum, f64 a, f64 b) { sum = fma(a, b, sum); }
INLINE void add_product(c64& sum, c64 a, c64 b) {
  sum.re = fmaf(a.re, b.re, fmaf(-a.im, b.im, sum.re));
  sum.im = fmaf(a.re, b.im, fmaf(a.im, b.re, sum.im));
}
INLINE void add_product(c128& sum, c128 a, c128 b) {
  sum.re = fma(a.re, b.re, fma(-a.im, b.im, sum.re));
  sum.im = fma(a.re, b.im, fma(a.im, b.re, sum.im));
}

// Reads kSteps x kTile elements; neighbouring threads read along the steps or across them. Outside
// of the matrix it is 0.
INLINE void load_tile(ProductValue (*tile)[kTile + 1], const ProductElement* matrix, i64 across, i64 steps,
                      i64 stride_across, i64 stride_along, int thread) {
  const bool along = stride_along == 1;
  for (int part = 0; part < kEach; ++part) {
    const int place = thread + part * kSide * kSide;
    const int step = along ? place % kSteps : place / kTile;
    const int line = along ? place / kSteps : place % kTile;
    ProductValue value = {};
    if (line < across && step < steps) value = read(matrix[line * stride_across + step * stride_along]);
    tile[step][line] = value;
  }
}

extern "C" __global__ __launch_bounds__(kSide * kSide) void tiled_product(
    const ProductElement* a, const ProductElement* b, ProductResult* out, i64 rows, i64 columns, i64 steps, i64 a_row,
    i64 a_step, i64 b_step, i64 b_column, i64 out_row, i64 out_column, i64 a_batch, i64 b_batch, i64 out_batch) {
  __shared__ ProductValue a_tile[kSteps][kTile + 1];
  __shared__ ProductValue b_tile[kSteps][kTile + 1];
  const i64 column_tiles = (columns + kTile - 1) / kTile, block = blockIdx.x, pair = blockIdx.z;
  const i64 row = block / column_tiles * kTile, column = block % column_tiles * kTile;
  const int thread = threadIdx.x, x = thread % kSide, y = thread / kSide;
  a += pair * a_batch + row * a_row;
  b += pair * b_batch + column * b_column;
  out += pair * out_batch + row * out_row + column * out_column;
  rows -= row;
  columns -= column;

  ProductSum sums[kEach][kEach] = {};
  for (i64 step = 0; step < steps; step += kSteps) {
    load_tile(a_tile, a + step * a_step, rows, steps - step, a_row, a_step, thread);
    load_tile(b_tile, b + step * b_step, columns, steps - step, b_column, b_step, thread);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kSteps; ++k) {
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j)
          add_product(sums[i][j], (ProductSum)a_tile[k][y + kSide * i], (ProductSum)b_tile[k][x + kSide * j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const i64 r = y + kSide * i, c = x + kSide * j;
      if (r < rows && c < columns) {
        out[r * out_row + c * out_column] = Memory<ProductResult>::write((Memory<ProductResult>::Value)sums[i][j]);
      }
    }
  }
}
)cuda"
