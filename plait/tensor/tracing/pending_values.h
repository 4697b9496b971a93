// Results of recorded instructions that are computed later, many together, if they are still
// referenced then. What is recorded between two computations is a piece.
#pragma once

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
    waiting_.clear();
  }

  // Returns where its actual value will be.
  std::shared_ptr<Tensor> add(ir::ValueId value) {
    auto actual = std::make_shared<Tensor>();
    waiting_.push_back({value, actual});
    return actual;
  }
  struct Referenced {
    ir::ValueId value;
    std::shared_ptr<Tensor> actual;
  };
  std::vector<Referenced> referenced() const {
    std::vector<Referenced> found;
    for (const Waiting& each : waiting_) {
      if (auto actual = each.actual.lock()) found.push_back({each.value, std::move(actual)});
    }
    return found;
  }

 private:
  struct Waiting {
    ir::ValueId value;
    std::weak_ptr<Tensor> actual;
  };
  uint32_t piece_ = 1;
  std::vector<Waiting> waiting_;  // values that wait for this piece
};

}  // namespace plait
