// Makes functions that no builder makes, to test that checks detect them.
#pragma once

#include <memory>

#include "plait/ir/function.h"

namespace plait::ir {

class FunctionSurgeon {
 public:
  explicit FunctionSurgeon(const Function& patient)
      : function_(std::make_shared<Function>(patient)) {}

  Signature& signature() { return function_->signature_; }
  Type& value_type(ValueId value) { return function_->value_types_.at(value); }
  uint32_t& definition(ValueId value) { return function_->definitions_.at(value); }
  ValueId& returned(size_t i) { return function_->results_.at(i); }
  std::vector<ValueId>& returned() { return function_->results_; }
  std::vector<Dim>& returned_sizes() { return function_->result_sizes_; }

  ValueId& operand(size_t instruction, size_t i) {
    return function_->operands_.at(node(instruction).first_operand + i);
  }
  Callee& callee(size_t instruction, size_t i) {
    return function_->callees_.at(node(instruction).first_callee + i);
  }
  Dim& size_argument(size_t instruction, size_t i) {
    return function_->sizes_.at(node(instruction).first_size + i);
  }
  Dim& size_result(size_t instruction, size_t i) {
    return size_argument(instruction, node(instruction).size_argument_count + i);
  }
  uint32_t& operand_count(size_t instruction) { return node(instruction).operand_count; }
  uint32_t& callee_count(size_t instruction) { return node(instruction).callee_count; }
  uint32_t& first_result(size_t instruction) { return node(instruction).first_result; }
  uint32_t& size_result_count(size_t instruction) { return node(instruction).size_result_count; }
  void set_attributes(size_t instruction, Attributes attributes) {
    node(instruction).attributes = static_cast<uint32_t>(function_->attributes_.size());
    function_->attributes_.push_back(std::move(attributes));
  }
  void set_primitive(size_t instruction, const Primitive& primitive) {
    node(instruction).primitive = &primitive;
  }

  std::shared_ptr<const Function> done() { return function_; }

 private:
  Function::Node& node(size_t instruction) { return function_->nodes_.at(instruction); }

  std::shared_ptr<Function> function_;
};

}  // namespace plait::ir
