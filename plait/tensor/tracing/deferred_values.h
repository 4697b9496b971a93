// Results of recorded instructions that are computed when they are needed (Execution::on_demand).
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "plait/ir/labels.h"
#include "plait/tensor/tensor.h"

namespace plait {

class DeferredValues {
 public:
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

  // The place of its actual value; null if no tensor refers to it.
  std::shared_ptr<Tensor> find(ir::ValueId value) const {
    return value < places_.size() ? places_[value].lock() : nullptr;
  }
  // Null if it was not computed.
  std::shared_ptr<Tensor> find_computed(ir::ValueId value) const {
    auto actual = find(value);
    return actual && *actual ? actual : nullptr;
  }
  // It is never computed again, even if no tensor refers to it.
  void hold(ir::ValueId value) {
    auto actual = find(value);
    if (!actual) actual = add(value);
    held_.push_back(std::move(actual));
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

  std::vector<std::weak_ptr<Tensor>> places_;  // by value
  std::vector<std::shared_ptr<Tensor>> held_;
};

}  // namespace plait
