// Loops over whole arrays: one dimension is the inner loop, and the others are iterated around it.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"

namespace plait {
namespace {

constexpr size_t kMostArrays = 4;           // the result, then the operands
constexpr int64_t kGrain = 1 << 15;         // additions worth a thread
constexpr int64_t kShortRow = 16;           // a call for fewer costs more than its elements
constexpr int64_t kNear = 16, kTile = 512;  // bytes, elements

using Steps = std::array<int64_t, kMostArrays>;

// One dimension of all arrays; steps are in bytes.
struct Dimension {
  int64_t size = 1;
  Steps steps = {};
};

struct Plan {
  size_t arrays = 0;
  std::array<std::byte*, kMostArrays> data = {};
  std::vector<Dimension> outer;
  Dimension row;
  int64_t tile = 1;  // elements of a row that are processed at a time
  int64_t rows = 1;
};

std::vector<Dimension> joint_dimensions(std::span<const Array> operands, const Array& out) {
  std::array<const Layout*, kMostArrays> layouts = {&out.layout()};
  std::array<int64_t, kMostArrays> sizes = {out.element_size()};
  for (size_t i = 0; i < operands.size(); ++i) {
    layouts[i + 1] = &operands[i].layout();
    sizes[i + 1] = operands[i].element_size();
  }
  const JointLayout joint({layouts.data(), operands.size() + 1});
  std::vector<Dimension> dimensions(joint.sizes.size());
  for (size_t axis = 0; axis < dimensions.size(); ++axis) {
    dimensions[axis].size = joint.sizes[axis];
    for (size_t i = 0; i <= operands.size(); ++i) {
      dimensions[axis].steps[i] = joint.strides[i][axis] * sizes[i];
    }
  }
  return dimensions;
}

// Rows run along the dimension with the smallest stride in the result, unless they would be short.
size_t choose_row(const std::vector<Dimension>& dimensions) {
  const auto closest = std::ranges::min_element(
      dimensions, {}, [](const Dimension& d) { return std::abs(d.steps[0]); });
  const auto longest = std::ranges::max_element(dimensions, {}, &Dimension::size);
  const auto row = closest->size < kShortRow ? longest : closest;
  return static_cast<size_t>(row - dimensions.begin());
}

Plan make_plan(std::span<const Array> operands, Array& out, int64_t grain) {
  Plan plan;
  plan.arrays = operands.size() + 1;
  plan.data[0] = out.writable_data();
  for (size_t i = 0; i < operands.size(); ++i) {
    plan.data[i + 1] = const_cast<std::byte*>(operands[i].data());  // as the table has one type
  }
  plan.outer = joint_dimensions(operands, out);
  if (!plan.outer.empty()) {
    const size_t row = choose_row(plan.outer);
    plan.row = plan.outer[row];
    plan.outer.erase(plan.outer.begin() + static_cast<int64_t>(row));
  }
  for (const Dimension& d : plan.outer) plan.rows *= d.size;
  // For rows with large strides, neighbouring pieces are processed consecutively, since they share
  // cache lines.
  const bool near =
      std::ranges::all_of(plan.row.steps, [](int64_t step) { return std::abs(step) <= kNear; });
  plan.tile = std::min(plan.row.size, near ? grain : kTile);
  return plan;
}

// Iterates over the rows of one tile, then over those of the next.
class Cursor {
 public:
  Cursor(const Plan& plan, int64_t unit) : plan_(plan), index_(plan.outer.size()) {
    tile_ = unit / plan.rows;
    int64_t rest = unit % plan.rows;
    for (size_t axis = index_.size(); axis-- > 0;) {
      const Dimension& d = plan.outer[axis];
      index_[axis] = rest % d.size;
      rest /= d.size;
      move(d, index_[axis]);
    }
  }

  void run(ElementwiseLoop loop) const {
    const Dimension& row = plan_.row;
    const int64_t first = tile_ * plan_.tile;
    std::array<std::byte*, kMostArrays> data = {};
    std::array<const std::byte*, kMostArrays> in = {};
    for (size_t i = 0; i < plan_.arrays; ++i) {
      data[i] = plan_.data[i] + offsets_[i] + first * row.steps[i];
      in[i] = data[i];
    }
    loop(data[0], row.steps[0], &in[1], &row.steps[1], std::min(plan_.tile, row.size - first));
  }

  void next() {
    for (size_t axis = index_.size(); axis-- > 0;) {
      const Dimension& d = plan_.outer[axis];
      if (++index_[axis] < d.size) return move(d, 1);
      index_[axis] = 0;
      move(d, 1 - d.size);
    }
    ++tile_;
  }

 private:
  void move(const Dimension& d, int64_t count) {
    for (size_t i = 0; i < plan_.arrays; ++i) offsets_[i] += count * d.steps[i];
  }

  const Plan& plan_;
  std::vector<int64_t> index_;
  Steps offsets_ = {};
  int64_t tile_ = 0;
};

void run_plan(ElementwiseLoop loop, const Plan& plan, int64_t grain) {
  const int64_t tiles = (plan.row.size + plan.tile - 1) / plan.tile;
  const int64_t units = std::max<int64_t>(grain / plan.tile, 1);
  parallel_for(plan.rows * tiles, units, [&](int64_t begin, int64_t end) {
    Cursor cursor(plan, begin);
    for (int64_t unit = begin; unit < end; ++unit, cursor.next()) cursor.run(loop);
  });
}

// The distance in bytes of neighbouring elements, if it is constant: for contiguous arrays, and for
// a single broadcast element.
std::optional<int64_t> only_step(const Array& array) {
  if (array.is_contiguous()) return array.element_size();
  const Layout& layout = array.layout();
  for (size_t i = 0; i < layout.rank(); ++i) {
    if (layout.strides[i] != 0 && layout.sizes[i] != 1) return std::nullopt;
  }
  return 0;
}

int64_t grain_of(int64_t cost_per_element) {
  return std::max<int64_t>(kGrain / std::max<int64_t>(cost_per_element, 1), 1);
}

// Runs all arrays as one row; returns false if their layouts do not allow it.
bool run_as_row(ElementwiseLoop loop, std::span<const Array> operands, Array& out,
                int64_t cost_per_element) {
  if (!out.is_contiguous()) return false;
  std::array<const std::byte*, kMostArrays> data = {};
  Steps steps = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<int64_t> step = only_step(operands[i]);
    if (!step) return false;
    data[i] = operands[i].data();
    steps[i] = *step;
  }
  run_elementwise_row(loop,
                      {.dtype = operands.back().dtype(),
                       .out = out.writable_data(),
                       .out_step = out.element_size(),
                       .operands = std::span(data).first(operands.size()),
                       .steps = std::span(steps).first(operands.size()),
                       .count = out.element_count()},
                      cost_per_element);
  return true;
}

void check(ElementwiseLoop loop, std::span<const Array> operands, const Array& out) {
  if (loop == nullptr) throw TypeError("unknown elementwise loop");
  if (operands.empty() || operands.size() >= kMostArrays) {
    throw ValueError("an elementwise loop has 1 to 3 operands, not {}", operands.size());
  }
  for (const Array& operand : operands) {
    if (operand.sizes() == out.sizes()) continue;
    throw ShapeError("elementwise: an operand is {}, but the result is {}",
                     text_of_sizes(operand.sizes()), text_of_sizes(out.sizes()));
  }
}

}  // namespace

void run_elementwise_row(ElementwiseLoop loop, const RowCall& row, int64_t cost_per_element) {
  const int64_t grain = grain_of(cost_per_element);
  if (row.count <= grain) {
    return loop(row.out, row.out_step, row.operands.data(), row.steps.data(), row.count);
  }
  parallel_for(row.count, grain, [&](int64_t begin, int64_t end) {
    std::array<const std::byte*, kMostArrays> in = {};
    for (size_t i = 0; i < row.operands.size(); ++i) in[i] = row.operands[i] + begin * row.steps[i];
    loop(row.out + begin * row.out_step, row.out_step, in.data(), row.steps.data(), end - begin);
  });
}

void run_elementwise(ElementwiseLoop loop, std::span<const Array> operands, Array& out,
                     int64_t cost_per_element) {
  check(loop, operands, out);
  if (out.element_count() == 0) return;
  if (run_as_row(loop, operands, out, cost_per_element)) return;
  const int64_t grain = grain_of(cost_per_element);
  run_plan(loop, make_plan(operands, out, grain), grain);
}

}  // namespace plait
