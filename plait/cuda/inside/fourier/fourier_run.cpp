#include "plait/cuda/inside/fourier/fourier_run.h"

#include <algorithm>
#include <array>
#include <bit>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/fourier/fourier_plan.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"

namespace plait::cuda {
namespace {

constexpr int64_t kBlockBytes = 16 << 10;      // of the numbers that a block transforms
constexpr int64_t kSector = 32;                // bytes of memory that are fetched together
constexpr int64_t kMostWorkBytes = 1 << 30;    // for rows of Bluestein's algorithm

// The ends of a transform: what its first pass reads and its last one writes.
struct Ends {
  FourierRows rows;
  int64_t period = 1;  // length of the rows of the whole call
  int64_t valid = 1;   // elements that are read
  Address in_chirp = 0, filter = 0, out_chirp = 0;
  bool in_swapped = false, middle_swapped = false, out_swapped = false;
};

class Passes {
 public:
  Passes(CudaDevice& device, DType dtype, const FourierPlan& plan, const Ends& ends)
      : device_(device), dtype_(dtype), plan_(plan), ends_(ends) {}

  void run(Address from, Address to) const {
    const size_t count = plan_.stages.size();
    const int64_t total = ends_.rows.outer * ends_.rows.inner * plan_.length;
    std::array<Array, 2> work;  // between passes, in turn
    for (size_t i = 0; i < std::min<size_t>(count - 1, 2); ++i) {
      work[i] = numbers_on(device_, dtype_, total);
    }
    int64_t before = 1;
    for (size_t i = 0; i < count; ++i) {
      const bool is_last = i + 1 == count;
      run_pass(i, before, i == 0 ? from : address_of(work[(i - 1) % 2]),
               is_last ? to : address_of(work[i % 2]));
      before *= plan_.stages[i].size;
    }
  }

 private:
  FourierPass pass_of(size_t i, int64_t before) const {
    const FourierStage& stage = plan_.stages[i];
    const FourierRows& rows = ends_.rows;
    FourierPass pass{.stride = rows.inner * before,
                     .count = plan_.length / (before * stage.size),
                     .before = before,
                     .inner = rows.inner,
                     .period = ends_.period,
                     .roots = address_of(stage.roots),
                     .size = stage.size,
                     .shift = plan_.shift,
                     .radix_count = static_cast<int32_t>(stage.radices.size())};
    pass.columns = rows.outer * pass.stride * pass.count;
    pass.in_length = pass.valid = pass.count * stage.size;
    pass.out_length = plan_.length;
    std::ranges::copy(stage.radices, pass.radices);
    if (pass.count > 1) {
      pass.fine = address_of(plan_.fine);
      pass.coarse = address_of(plan_.coarse);
    }
    return pass;
  }

  void add_ends(size_t i, FourierPass& pass) const {
    if (i == 0) {
      pass.in_length = ends_.rows.in_length;
      pass.valid = ends_.valid;
      pass.in_chirp = ends_.in_chirp;
      pass.in_swapped = ends_.in_swapped;
    }
    if (i + 1 == plan_.stages.size()) {
      pass.out_length = ends_.rows.out_length;
      pass.filter = ends_.filter;
      pass.out_chirp = ends_.out_chirp;
      pass.middle_swapped = ends_.middle_swapped;
      pass.out_swapped = ends_.out_swapped;
      pass.factor = ends_.rows.factor;
    }
  }

  // As many columns as fill a block and a sector, unless blocks become few.
  void arrange(FourierPass& pass, int64_t most_shared) const {
    const int64_t bytes = size_of(dtype_);
    const int64_t neighbours = std::min(pass.stride * pass.count, pass.columns);
    const int64_t least = std::min(neighbours, kSector / bytes);
    int64_t together = std::clamp<int64_t>(kBlockBytes / (bytes * pass.size), 1, kMostColumns);
    while (together > 1 && pass.columns < together * 2 * device_.multiprocessors()) together /= 2;
    together = std::bit_ceil(static_cast<uint64_t>(std::max(together, least)));
    const auto shared = [&] { return 2 * pass.size * (together | 1) * bytes; };
    while (together > 1 && shared() > most_shared) together /= 2;
    together = std::bit_floor(static_cast<uint64_t>(together));
    pass.together_log = std::countr_zero(static_cast<uint64_t>(together));
    pass.pitch = static_cast<int32_t>(together | 1);
    pass.in_along = pass.stride * pass.count * bytes < kSector;
    pass.out_along = pass.stride * bytes < kSector;
  }

  void run_pass(size_t i, int64_t before, Address from, Address to) const {
    FourierPass pass = pass_of(i, before);
    add_ends(i, pass);
    const FourierInput input = i == 0 ? ends_.rows.input : FourierInput::complex;
    const bool is_last = i + 1 == plan_.stages.size();
    const FourierOutput output = is_last ? ends_.rows.output : FourierOutput::complex;
    const int64_t longest = std::max({pass.in_length, pass.out_length, plan_.length});
    const bool narrow = fits_32_bits(ends_.rows.outer * ends_.rows.inner * longest);
    static Immortal<KernelVariants> variants("fourier");
    const KernelFunction& function =
        variants->of(device_, "transform",
                     {static_cast<int64_t>(input), static_cast<int64_t>(output),
                      dtype_number(dtype_), narrow},
                     [&] { return fourier_text(dtype_, input, output, narrow); });
    arrange(pass, function.most_shared_bytes());
    const int64_t together = int64_t{1} << pass.together_log;
    const int64_t threads = quotient_up(pass.size * together, 8 * 32) * 32;
    launch(device_, function, blocks_for(pass.columns, static_cast<int>(together)),
           static_cast<int>(std::clamp<int64_t>(threads, 32, kMostFourierThreads)),
           2 * pass.size * pass.pitch * size_of(dtype_), pass, from, to);
  }

  CudaDevice& device_;
  DType dtype_;
  const FourierPlan& plan_;
  const Ends& ends_;
};

// With a plan of its own length.
void transform_directly(CudaDevice& device, DType dtype, int64_t length, const FourierRows& rows,
                        Address from, Address to) {
  const auto plan = fourier_plan(device, dtype, length);
  const Ends ends{.rows = rows,
                  .period = length,
                  .valid = length,
                  .in_swapped = rows.inverse,
                  .out_swapped = rows.inverse};
  Passes(device, dtype, *plan, ends).run(from, to);
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
  const Ends into{.rows = first,
                  .period = length,
                  .valid = length,
                  .in_chirp = address_of(chirp.turns),
                  .filter = address_of(chirp.filter),
                  .in_swapped = rows.inverse,
                  .middle_swapped = true};
  Passes(device, dtype, *plan, into).run(from, address_of(work));
  const Ends out{.rows = second,
                 .period = length,
                 .valid = chirp.padded,
                 .out_chirp = address_of(chirp.turns),
                 .middle_swapped = true,
                 .out_swapped = rows.inverse};
  Passes(device, dtype, *plan, out).run(address_of(work), to);
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
