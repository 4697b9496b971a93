#include "plait/cuda/inside/fourier/fourier_passes.h"

#include <algorithm>
#include <array>
#include <bit>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"

namespace plait::cuda {
namespace {

constexpr int64_t kBlockBytes = 16 << 10;  // numbers that a block transforms
constexpr int64_t kSector = 32;            // bytes of memory that are fetched together

class Passes {
 public:
  Passes(CudaDevice& device, DType dtype, const FourierPlan& plan, const FourierEnds& ends)
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
    const KernelFunction& function = variants->of(
        device_, "transform",
        {static_cast<int64_t>(input), static_cast<int64_t>(output), dtype_number(dtype_), narrow},
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
  const FourierEnds& ends_;
};

}  // namespace

void run_passes(CudaDevice& device, DType dtype, const FourierPlan& plan, const FourierEnds& ends,
                Address from, Address to) {
  Passes(device, dtype, plan, ends).run(from, to);
}

}  // namespace plait::cuda
