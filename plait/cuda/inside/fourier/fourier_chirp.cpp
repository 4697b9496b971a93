#include "plait/cuda/inside/fourier/fourier_chirp.h"

#include <bit>
#include <complex>
#include <vector>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/cuda/inside/elementwise/pointwise.h"
#include "plait/cuda/inside/fourier/fourier_passes.h"
#include "plait/cuda/inside/fourier/fourier_plan.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {
namespace {

constexpr size_t kMostChirps = 16;

// The least length from `least` on that is a power of 2 times 1, 3, 5, 7, 9 or 15.
int64_t convenient_length(int64_t least) {
  int64_t best = 0;
  for (const int64_t odd : {1, 3, 5, 7, 9, 15}) {
    const auto twos = std::bit_ceil(static_cast<uint64_t>(quotient_up(least, odd)));
    const int64_t length = odd * static_cast<int64_t>(twos);
    if (best == 0 || length < best) best = length;
  }
  return best;
}

std::shared_ptr<const Chirp> make_chirp(CudaDevice& device, DType dtype, int64_t length) {
  auto chirp = std::make_shared<Chirp>();
  chirp->padded = convenient_length(2 * length - 1);
  std::vector<std::complex<double>> turns(static_cast<size_t>(length)),
      around(static_cast<size_t>(chirp->padded));
  int64_t square = 0;  // k² mod 2 n
  for (size_t k = 0; k < turns.size(); ++k) {
    turns[k] = turn_of(square, 2 * length);
    around[k] = std::conj(turns[k]);
    if (k > 0) around[around.size() - k] = around[k];
    square = (square + 2 * static_cast<int64_t>(k) + 1) % (2 * length);
  }
  chirp->turns = uploaded(turns, dtype, device);
  const Array exact = uploaded(around, DType::c128, device);
  const Array filter = numbers_on(device, DType::c128, chirp->padded);
  const FourierEnds ends{.rows = {.in_length = chirp->padded,
                                  .out_length = chirp->padded,
                                  .factor = 1 / static_cast<double>(chirp->padded)},
                         .period = chirp->padded,
                         .valid = chirp->padded};
  const auto plan = fourier_plan(device, DType::c128, chirp->padded);
  run_passes(device, DType::c128, *plan, ends, address_of(exact), address_of(filter));
  chirp->filter = filter;
  if (dtype == DType::c64) {
    chirp->filter = numbers_on(device, dtype, chirp->padded);
    run_pointwise(convert_primitive(), {&filter, 1}, chirp->filter);
  }
  return chirp;
}

}  // namespace

std::shared_ptr<const Chirp> fourier_chirp(CudaDevice& device, DType dtype, int64_t length) {
  static Immortal<RecentCache<FourierKey, const Chirp, HashOfFourierKey>> chirps(kMostChirps);
  return chirps->find_or_make({device.index(), dtype, length},
                              [&](const FourierKey&) { return make_chirp(device, dtype, length); });
}

}  // namespace plait::cuda
