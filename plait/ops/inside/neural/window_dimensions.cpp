#include "plait/ops/inside/neural/window_dimensions.h"

#include <algorithm>
#include <span>

#include "plait/core/error.h"

namespace plait {

std::vector<WindowDimension> windows_of(const WindowAttributes& attributes, const Sizes& space) {
  std::vector<WindowDimension> windows;
  const size_t outer = space.size() - attributes.counts.size();
  for (size_t i = 0; i < attributes.counts.size(); ++i) {
    WindowDimension d{.size = space[outer + i], .count = attributes.counts[i].number()};
    if (attributes.window.empty()) {
      d.is_even = true;
    } else {
      d.window = attributes.window[i];
      d.stride = attributes.strides[i];
      d.dilation = attributes.dilation[i];
      d.padding = attributes.padding[i];
    }
    windows.push_back(d);
  }
  return windows;
}

void expect_windows(const KernelCall& call, const WindowAttributes& attributes) {
  const Sizes& given = call.operands[0].sizes();
  const auto plane = std::span(given).last(attributes.counts.size());
  if (std::ranges::equal(attributes.counts, plane,
                         [](const Dim& count, int64_t size) { return count.number() == size; })) {
    return;
  }
  throw ShapeError("{}: {} does not have {} windows", call.primitive.name, text_of_sizes(given),
                   Shape(attributes.counts).text());
}

}  // namespace plait
