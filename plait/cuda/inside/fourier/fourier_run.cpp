#include "plait/cuda/inside/fourier/fourier_run.h"

#include <algorithm>

#include "plait/cuda/inside/fourier/fourier_chirp.h"
#include "plait/cuda/inside/fourier/fourier_plan.h"

namespace plait::cuda {
namespace {

constexpr int64_t kMostWorkBytes = 1 << 30;  // for rows of Bluestein's algorithm

// With a plan of its own length.
void transform_directly(CudaDevice& device, DType dtype, int64_t length, const FourierRows& rows,
                        Address from, Address to) {
  const auto plan = fourier_plan(device, dtype, length);
  const FourierEnds ends{.rows = rows,
                         .period = length,
                         .valid = length,
                         .in_swapped = rows.inverse,
                         .out_swapped = rows.inverse};
  run_passes(device, dtype, *plan, ends, from, to);
}

// The convolution's inverse transform is a transform with real and imaginary parts exchanged before
// and after it; the exchange after it is followed by the chirp, hence in the middle.
void transform_by_chirp(CudaDevice& device, DType dtype, int64_t length, const Chirp& chirp,
                        const FourierRows& rows, Address from, Address to) {
  const auto plan = fourier_plan(device, dtype, chirp.padded);
  const Array work = numbers_on(device, dtype, rows.outer * rows.inner * chirp.padded);
  FourierRows first = rows, second = rows;
  first.output = FourierOutput::complex;
  first.factor = 1;
  first.out_length = second.in_length = chirp.padded;
  second.input = FourierInput::complex;
  const FourierEnds into{.rows = first,
                         .period = length,
                         .valid = length,
                         .in_chirp = address_of(chirp.turns),
                         .filter = address_of(chirp.filter),
                         .in_swapped = rows.inverse,
                         .middle_swapped = true};
  run_passes(device, dtype, *plan, into, from, address_of(work));
  const FourierEnds out{.rows = second,
                        .period = length,
                        .valid = chirp.padded,
                        .out_chirp = address_of(chirp.turns),
                        .middle_swapped = true,
                        .out_swapped = rows.inverse};
  run_passes(device, dtype, *plan, out, address_of(work), to);
}

int64_t bytes_of(DType dtype, bool is_real) {
  return is_real ? size_of(real_dtype(dtype)) : size_of(dtype);
}

}  // namespace

void transform_rows(CudaDevice& device, DType dtype, int64_t length, const FourierRows& rows,
                    Address from, Address to) {
  if (has_plan(length)) return transform_directly(device, dtype, length, rows, from, to);
  const auto chirp = fourier_chirp(device, dtype, length);
  const int64_t row = rows.inner * chirp->padded * size_of(dtype);
  const int64_t most = std::max<int64_t>(1, kMostWorkBytes / row);
  const int64_t in_row =
      rows.inner * rows.in_length * bytes_of(dtype, rows.input == FourierInput::real);
  const int64_t out_row =
      rows.inner * rows.out_length * bytes_of(dtype, rows.output == FourierOutput::real);
  for (int64_t first = 0; first < rows.outer; first += most) {
    FourierRows some = rows;
    some.outer = std::min(most, rows.outer - first);
    transform_by_chirp(device, dtype, length, *chirp, some,
                       from + static_cast<Address>(first * in_row),
                       to + static_cast<Address>(first * out_row));
  }
}

}  // namespace plait::cuda
