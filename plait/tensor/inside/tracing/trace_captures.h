// The tensors from outside that a traced function uses. Each is captured once, as a value of the
// function: parameters come before instructions, but captures are known only at the end. Then these
// values become parameters, after the function's own.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/ir/builder.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

class TraceCaptures {
 public:
  bool empty() const { return tensors_.empty(); }
  std::span<const Tensor> tensors() const { return tensors_; }

  // True if the level follows one of them.
  bool has_followed(const Level& level) const;

  // The value of what was captured with this identity, or of an equal constant; empty if it is not
  // captured yet.
  std::optional<ir::ValueId> find(const void* identity) const;
  std::optional<ir::ValueId> find_equal(const Tensor& constant) const;
  // The captured tensor with this value; null if there is none.
  const Tensor* find_tensor(ir::ValueId value) const;
  ir::ValueId add(const void* identity, const Tensor& tensor, ir::FunctionBuilder& builder);

  static bool is_capture(const ir::Instruction& instruction);
  // After a rewriting of the function. `values` has the new number of each value.
  void renumber(std::span<const ir::ValueId> values);
  // The recorded function with the captures as parameters; updates the numbers of its values.
  std::shared_ptr<const ir::Function> as_parameters(const ir::Function& recorded,
                                                    ir::ProgramBuilder& program,
                                                    std::vector<ir::ValueId>& values) const;
  std::vector<Tensor> take() { return std::move(tensors_); }
  void clear();

 private:
  std::vector<Tensor> tensors_;
  std::vector<ir::ValueId> values_;  // by which they are used
  std::unordered_map<const void*, ir::ValueId> by_identity_;
};

}  // namespace plait
