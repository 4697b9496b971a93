#include "plait/compile/inside/running/frame.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait::compile {

Frame::Frame(std::shared_ptr<const BoundFunction> bound, const ArenaOptions& arena)
    : counters(bound->function->counters),
      rounds(bound->function->loops.size()),
      memory(*bound, arena),
      bound_(std::move(bound)),
      cells_(function().cells) {}

std::vector<ir::Value> Frame::operands(const Step& step) {
  std::vector<ir::Value> values;
  values.reserve(step.operands.size());
  for (size_t i = 0; i < step.operands.size(); ++i) values.push_back(operand(step, i));
  return values;
}

std::vector<int64_t> Frame::numbers(std::span<const Dim> dims) const {
  std::vector<int64_t> numbers;
  numbers.reserve(dims.size());
  for (const Dim dim : dims) numbers.push_back(number(dim));
  return numbers;
}

void Frame::set_sizes(std::span<const Dim> symbols, std::span<const int64_t> values) {
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (values[i] < 0) throw ShapeError("size {} was computed as {}", symbols[i].name(), values[i]);
    sizes_.set(symbols[i], values[i]);
  }
}

void Frame::clear() {
  std::ranges::fill(cells_, ir::Value());
  std::ranges::fill(rounds, 0);
  next = 0;
}

}  // namespace plait::compile
