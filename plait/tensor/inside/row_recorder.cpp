#include "plait/tensor/inside/row_recorder.h"

#include <algorithm>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

constexpr int64_t kPiece = 1 << 10;  // elements; several rows of them fit in the L1 cache
constexpr int64_t kGrain = 4 * kPiece;
constexpr size_t kLargestElement = 16;

bool repeats(const Array& array) {
  return std::ranges::all_of(array.layout().strides, [](int64_t s) { return s == 0; });
}

int64_t step_of(const Array& array) { return repeats(array) ? 0 : array.element_size(); }

}  // namespace

RowRecorder::RowRecorder(std::span<const Array> given)
    : given_(given.begin(), given.end()), outer_(std::exchange(ambient.rows, this)) {}

RowRecorder::~RowRecorder() {
  if (is_open_) ambient.rows = outer_;
}

RowRecorder* RowRecorder::current() { return ambient.rows; }

std::optional<RowRecorder::Operand> RowRecorder::operand_of(const std::byte* data, int64_t step,
                                                            int64_t size) {
  if (step == 0) {
    const size_t at = numbers_.size();
    numbers_.resize(at + kLargestElement);
    std::copy_n(data, size, numbers_.begin() + static_cast<std::ptrdiff_t>(at));
    return Operand{Origin::number, at, 0};
  }
  for (size_t i = 0; i < given_.size(); ++i) {
    if (given_[i].data() == data && step_of(given_[i]) == step)
      return Operand{Origin::given, i, step};
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Array& result = steps_[i].result;
    if (result.data() == data && result.element_size() == step)
      return Operand{Origin::step, i, step};
  }
  return std::nullopt;
}

void RowRecorder::add(const Kernel& kernel, const RowCall& call, std::span<const int64_t> sizes,
                      const Array& result) {
  if (!is_complete_) return;
  Step step{.kernel = kernel, .dtype = call.dtype, .count = call.operands.size(), .result = result};
  is_complete_ = call.operands.size() <= step.operands.size();
  for (size_t i = 0; is_complete_ && i < call.operands.size(); ++i) {
    const auto operand = operand_of(call.operands[i], call.steps[i], sizes[i]);
    is_complete_ = operand.has_value();
    if (operand) step.operands[i] = *operand;
  }
  if (is_complete_) steps_.push_back(std::move(step));
}

void RowRecorder::add(const Kernel& kernel, std::span<const Array> operands,
                      std::span<const Array> results) {
  std::array<const std::byte*, 3> data = {};
  std::array<int64_t, 3> steps = {}, sizes = {};
  is_complete_ = is_complete_ && kernel.run_row != nullptr && operands.size() <= data.size() &&
                 results.size() == 1 && results[0].is_contiguous();
  if (!is_complete_) return;
  const Array& result = results[0];
  for (size_t i = 0; is_complete_ && i < operands.size(); ++i) {
    const Array& x = operands[i];
    is_complete_ = x.sizes() == result.sizes() && (repeats(x) || x.is_contiguous());
    data[i] = x.data();
    steps[i] = step_of(x);
    sizes[i] = x.element_size();
  }
  if (!is_complete_) return;
  const RowCall call{.dtype = operands.back().dtype(),
                     .result = result.dtype(),
                     .out_step = result.element_size(),
                     .operands = std::span(data).first(operands.size()),
                     .steps = std::span(steps).first(operands.size())};
  is_complete_ = kernel.run_row(call, kernel.data);  // with no elements: tests the dtype
  add(kernel, call, sizes, result);
}

bool RowRecorder::lead_to(const Array& result) {
  ambient.rows = outer_;
  is_open_ = false;
  if (!is_complete_ || steps_.empty() || !result.is_contiguous()) return false;
  // Drops operations after the one that computed the result.
  while (steps_.size() > 1 && steps_.back().result.data() != result.data()) steps_.pop_back();
  const Array& last = steps_.back().result;
  if (last.data() != result.data() || last.dtype() != result.dtype()) return false;
  assign_scratch();
  return true;
}

// A scratch buffer is reused after the last use of its result.
void RowRecorder::assign_scratch() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const Operand& operand : std::span(steps_[i].operands).first(steps_[i].count)) {
      if (operand.origin == Origin::step) steps_[operand.index].last_use = i;
    }
  }
  std::vector<size_t> free;
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    if (free.empty()) free.push_back(scratch_count_++);
    steps_[i].scratch = free.back();
    free.pop_back();
    for (size_t before = 0; before <= i; ++before) {
      if (std::max(steps_[before].last_use, before) == i) free.push_back(steps_[before].scratch);
    }
  }
}

// The replay on one thread.
class RowRecorder::Piece {
 public:
  Piece(const RowRecorder& notes, std::span<const Array> given, Array& result)
      : notes_(notes),
        given_(given),
        out_(result.writable_data()),
        scratch_(Array::empty(DType::u8, {static_cast<int64_t>(notes.scratch_count_) * kRoom})) {}

  void run(int64_t begin, int64_t count) {
    for (const Step& step : notes_.steps_) {
      std::array<const std::byte*, 3> data = {};
      std::array<int64_t, 3> steps = {};
      for (size_t i = 0; i < step.count; ++i) {
        data[i] = place_of(step.operands[i], begin);
        steps[i] = step.operands[i].step;
      }
      const int64_t size = step.result.element_size();
      step.kernel.run_row({.dtype = step.dtype,
                           .result = step.result.dtype(),
                           .out = is_last(step) ? out_ + begin * size : room_of(step),
                           .out_step = size,
                           .operands = std::span(data).first(step.count),
                           .steps = std::span(steps).first(step.count),
                           .count = count},
                          step.kernel.data);
    }
  }

 private:
  static constexpr int64_t kRoom = kPiece * static_cast<int64_t>(kLargestElement);

  bool is_last(const Step& step) const { return &step == &notes_.steps_.back(); }
  std::byte* room_of(const Step& step) {
    return scratch_.writable_data() + static_cast<int64_t>(step.scratch) * kRoom;
  }
  const std::byte* place_of(const Operand& operand, int64_t begin) {
    switch (operand.origin) {
      case Origin::given: return given_[operand.index].data() + begin * operand.step;
      case Origin::step: return room_of(notes_.steps_[operand.index]);
      case Origin::number: return notes_.numbers_.data() + operand.index;
    }
    return nullptr;
  }

  const RowRecorder& notes_;
  std::span<const Array> given_;
  std::byte* out_;
  Array scratch_;
};

void RowRecorder::repeat(std::span<const Array> given, Array& result) const {
  parallel_for(result.element_count(), kGrain, [&](int64_t begin, int64_t end) {
    Piece piece(*this, given, result);
    for (; begin < end; begin += kPiece) piece.run(begin, std::min(kPiece, end - begin));
  });
}

}  // namespace plait
