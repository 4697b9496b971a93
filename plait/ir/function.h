// A function: a flat list of instructions in SSA form. Built once (builder.h), then immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ir/attributes.h"
#include "plait/ir/effects.h"
#include "plait/ir/labels.h"
#include "plait/ir/type.h"

namespace plait::ir {

struct Primitive;
class Function;

// A function used by an instruction, with its size arguments: @f<n//2>.
struct Callee {
  std::string name;
  std::vector<Dim> sizes;
  friend bool operator==(const Callee& a, const Callee& b);
};

// The interface of a function: func @f<n>(f32[n]) -> <k> (f32[k]) over {data: 4} where n%8 == 0
struct Signature {
  std::vector<Dim> size_parameters = {};
  std::vector<Type> parameters = {};
  std::vector<Dim> result_sizes = {};  // data-dependent sizes of the results, bound in their types
  std::vector<Type> results = {};
  Mesh axes = {};                    // the axes that the function may use
  std::vector<SizeFact> facts = {};  // checked on entry, assumed inside
};

// An instruction of a function: a view, as cheap to copy as a pointer; valid while the function
// lives.
class Instruction {
 public:
  Instruction(const Function& function, uint32_t index) : function_(&function), index_(index) {}

  const Function& function() const { return *function_; }
  uint32_t index() const { return index_; }
  const Primitive& primitive() const;
  std::span<const ValueId> operands() const;
  const Type& operand_type(size_t i) const;
  std::span<const Type> result_types() const;
  ValueId result(size_t i = 0) const;
  size_t result_count() const;
  const Attributes& attributes() const;
  template <class T>
  const T& attributes_as() const {
    return attributes().as<T>();
  }
  std::span<const Callee> callees() const;
  std::span<const Dim> size_arguments() const;  // pack<k>
  std::span<const Dim> size_results() const;    // <k> %v = nonzero
  Location location() const;

 private:
  const Function* function_;
  uint32_t index_;
};

class Function {
 public:
  const std::string& name() const { return name_; }
  const Signature& signature() const { return signature_; }
  Location location() const { return location_; }

  size_t parameter_count() const { return signature_.parameters.size(); }
  size_t value_count() const { return value_types_.size(); }
  const Type& type_of(ValueId value) const { return value_types_[value]; }
  // The instruction that defines a value; empty for a parameter.
  std::optional<Instruction> definition(ValueId value) const;
  // The user's label of the value; "" if it has none.
  std::string_view label(ValueId value) const { return labels_.of(value); }
  const Labels& labels() const { return labels_; }

  size_t size() const { return nodes_.size(); }  // number of instructions
  Instruction instruction(size_t i) const { return {*this, static_cast<uint32_t>(i)}; }
  class Iterator;
  struct Range;
  Range instructions() const;  // for (Instruction i : function.instructions())

  std::span<const ValueId> results() const { return results_; }
  std::span<const Dim> result_sizes() const {
    return result_sizes_;
  }  // the values of the result sizes, in the body

 private:
  friend class FunctionBuilder;
  friend class Instruction;
  friend class FunctionSurgeon;  // tests: makes functions that no builder would make

  struct Node {
    const Primitive* primitive;
    Location location;
    uint32_t attributes;  // index into attributes_; 0 for empty attributes
    uint32_t first_operand, first_callee, first_size, first_result;
    uint32_t operand_count, callee_count;
    uint32_t size_argument_count, size_result_count,
        result_count;  // sizes: arguments, then results
  };

  std::string name_;
  Signature signature_;
  Location location_;
  std::vector<Node> nodes_;
  std::vector<Attributes> attributes_{Attributes()};
  std::vector<ValueId> operands_;
  std::vector<Callee> callees_;
  std::vector<Dim> sizes_;
  std::vector<Type> value_types_;
  std::vector<uint32_t> definitions_;  // for each value: instruction index + 1; 0 for parameters
  Labels labels_;
  std::vector<ValueId> results_;
  std::vector<Dim> result_sizes_;
};

class Function::Iterator {
 public:
  Iterator(const Function& function, uint32_t index) : function_(&function), index_(index) {}
  Instruction operator*() const { return {*function_, index_}; }
  Iterator& operator++() {
    ++index_;
    return *this;
  }
  friend bool operator==(const Iterator&, const Iterator&) = default;

 private:
  const Function* function_;
  uint32_t index_;
};

struct Function::Range {
  const Function& function;
  Iterator begin() const { return {function, 0}; }
  Iterator end() const { return {function, static_cast<uint32_t>(function.size())}; }
};

// Visits each size in the instruction: in its size arguments, result types and attributes.
void for_each_size(const Instruction& instruction, const std::function<void(Dim symbol)>& visit);

inline Function::Range Function::instructions() const { return {*this}; }

inline const Primitive& Instruction::primitive() const {
  return *function_->nodes_[index_].primitive;
}
inline std::span<const ValueId> Instruction::operands() const {
  const Function::Node& node = function_->nodes_[index_];
  return {function_->operands_.data() + node.first_operand, node.operand_count};
}
inline const Type& Instruction::operand_type(size_t i) const {
  return function_->value_types_[operands()[i]];
}
inline std::span<const Type> Instruction::result_types() const {
  const Function::Node& node = function_->nodes_[index_];
  return {function_->value_types_.data() + node.first_result, node.result_count};
}
inline ValueId Instruction::result(size_t i) const {
  return function_->nodes_[index_].first_result + static_cast<ValueId>(i);
}
inline size_t Instruction::result_count() const { return function_->nodes_[index_].result_count; }
inline const Attributes& Instruction::attributes() const {
  return function_->attributes_[function_->nodes_[index_].attributes];
}
inline std::span<const Callee> Instruction::callees() const {
  const Function::Node& node = function_->nodes_[index_];
  return {function_->callees_.data() + node.first_callee, node.callee_count};
}
inline std::span<const Dim> Instruction::size_arguments() const {
  const Function::Node& node = function_->nodes_[index_];
  return {function_->sizes_.data() + node.first_size, node.size_argument_count};
}
inline std::span<const Dim> Instruction::size_results() const {
  const Function::Node& node = function_->nodes_[index_];
  return {function_->sizes_.data() + node.first_size + node.size_argument_count,
          node.size_result_count};
}
inline Location Instruction::location() const { return function_->nodes_[index_].location; }

}  // namespace plait::ir
