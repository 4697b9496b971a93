#include "plait/cuda/inside/windows/cuda_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/windows/window_text.h"
#include "plait/ops/inside/neural/window_dimensions.h"

namespace plait::cuda {
namespace {

// The leading dimensions of x, joined where possible for both x and a contiguous result.
JointLayout outer_of(const Array& x, size_t space) {
  const size_t outer = x.rank() - space;
  const Layout own{std::span(x.sizes().data(), outer), std::span(x.layout().strides.data(), outer)};
  const Layout contiguous = Layout::contiguous(own.sizes);
  const Layout* both[] = {&own, &contiguous};
  return JointLayout(both);
}

// A copy if too many dimensions remain.
Array with_few_dimensions(const Array& x, size_t space) {
  const bool has_few = outer_of(x, space).sizes.size() <= static_cast<size_t>(kMostOuter);
  return has_few ? x : x.copy();
}

WindowPlaces places_of(const Array& x, std::span<const WindowDimension> windows) {
  WindowPlaces places;
  const JointLayout outer = outer_of(x, windows.size());
  std::ranges::copy(outer.sizes, places.outer_sizes);
  std::ranges::copy(outer.strides[0], places.outer_steps);
  for (size_t i = 0; i < windows.size(); ++i) {
    const WindowDimension& d = windows[i];
    places.axes[3 - windows.size() + i] = {
        .size = d.size,
        .count = d.count,
        .window = d.window,
        .stride = d.stride,
        .dilation = d.dilation,
        .padding = d.padding,
        .period = d.dilation / std::gcd(d.dilation, d.stride),
        .step = x.layout().strides[x.rank() - windows.size() + i]};
  }
  return places;
}

// True if the kernels' arithmetic with places stays within 32 bits.
bool places_fit(const WindowDimension& d) {
  const auto size = static_cast<double>(d.size), count = static_cast<double>(d.count);
  const double most = d.is_even
                          ? (size + 1) * (count + 1)
                          : (count + 1) * static_cast<double>(d.stride) + size +
                                std::abs(static_cast<double>(d.padding)) +
                                static_cast<double>(d.window + 1) * static_cast<double>(d.dilation);
  return most < static_cast<double>(int64_t{1} << 30);
}

struct WindowOperation {
  std::string_view name;
  int64_t number;  // tells the kernels of all texts apart
  std::string (*text)(const WindowForm&);
  bool spreads = false;  // from windows to elements
};

WindowForm form_of(const Array& x, const std::vector<WindowDimension>& windows, int64_t total) {
  return {.dtype = x.dtype(),
          .space = static_cast<int>(windows.size()),
          .outer = static_cast<int>(outer_of(x, windows.size()).sizes.size()),
          .is_even = windows[0].is_even,
          .is_narrow = fits_32_bits(total) && std::ranges::all_of(windows, places_fit)};
}

void run_windows(KernelCall& call, const WindowOperation& operation) {
  const auto& attributes = call.attributes.as<WindowAttributes>();
  if (operation.spreads) expect_windows(call, attributes);
  move_operands(call);
  Array& out = call.new_result(0);
  if (out.element_count() == 0) return;
  const Array x = with_few_dimensions(call.operands[0], attributes.counts.size());
  const std::vector<WindowDimension> windows =
      windows_of(attributes, operation.spreads ? out.sizes() : x.sizes());
  const int64_t total = out.element_count();
  const WindowForm form = form_of(x, windows, total);
  static Immortal<KernelVariants> variants("windows");
  const KernelFunction& function =
      variants->of(device_of(call), operation.name,
                   {operation.number, dtype_number(form.dtype), form.space, form.outer,
                    form.is_even, form.is_narrow},
                   [&] { return operation.text(form); });
  launch(device_of(call), function, blocks_for(total), kBlockThreads, 0, places_of(x, windows),
         address_of(x), address_of(out), total);
}

}  // namespace

void run_window_sum(KernelCall& call, const void*) {
  run_windows(call, {"window_sum", 0, window_sum_text});
}
void run_window_spread(KernelCall& call, const void*) {
  run_windows(call, {"window_spread", 1, window_sum_text, true});
}
void run_window_maximum(KernelCall& call, const void*) {
  run_windows(call, {"window_maximum", 2, window_maximum_text});
}
void run_window_maximum_index(KernelCall& call, const void*) {
  run_windows(call, {"window_maximum_index", 3, window_maximum_text});
}

}  // namespace plait::cuda
