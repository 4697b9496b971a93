// Results of recorded instructions that are computed later, if tensors still refer to them then:
// many together, when the piece ends that is being recorded, or each when it is needed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "plait/ir/labels.h"
#include "plait/tensor/tensor.h"

namespace plait {

class PendingValues {
 public:
  // The number of the piece that is being recorded; `kBeforeAll` for arguments.
  static constexpr uint32_t kBeforeAll = 0;
  uint32_t piece() const { return piece_; }
  void begin_piece() {
    ++piece_;
    places_.clear();
    held_.clear();
  }

  // Returns where its actual value will be.
  std::shared_ptr<Tensor> add(ir::ValueId value) {
    auto actual = std::make_shared<Tensor>();
    place(value) = actual;
    return actual;
  }
  // A value that is known.
  void add(ir::ValueId value, const std::shared_ptr<Tensor>& actual) {
    place(value) = actual;
    held_.push_back(actual);
  }
  // From now on it is there, even if no tensor refers to it, so it is not computed twice.
  void hold(ir::ValueId value) {
    auto actual = find(value);
    if (!actual) actual = add(value);
    held_.push_back(std::move(actual));
  }

  // The place of its actual value; null if no tensor refers to it.
  std::shared_ptr<Tensor> find(ir::ValueId value) const {
    return value < places_.size() ? places_[value].lock() : nullptr;
  }
  // Null if it was not computed.
  std::shared_ptr<Tensor> find_computed(ir::ValueId value) const {
    auto actual = find(value);
    return actual && *actual ? actual : nullptr;
  }
  // Values that tensors refer to, and that were not computed.
  std::vector<ir::ValueId> missing() const {
    std::vector<ir::ValueId> values;
    for (ir::ValueId value = 0; value < places_.size(); ++value) {
      const auto actual = places_[value].lock();
      if (actual && !*actual) values.push_back(value);
    }
    return values;
  }

 private:
  std::weak_ptr<Tensor>& place(ir::ValueId value) {
    places_.resize(std::max<size_t>(places_.size(), value + 1));
    return places_[value];
  }

  uint32_t piece_ = 1;
  std::vector<std::weak_ptr<Tensor>> places_;  // by value
  std::vector<std::shared_ptr<Tensor>> held_;
};

}  // namespace plait
