// Copies of functions, whole or instruction by instruction, under other names: what every transform
// begins with.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/builder.h"

namespace plait::ir {

// What these functions and records say of themselves; of two with one name, the first.
Declarations declarations_of(std::span<const std::shared_ptr<const Function>> functions,
                             std::span<const RecordType> records);
Declarations declarations_of(const Program& program);

// An instruction that is to be added, whose parts are its own.
struct Draft {
  const Primitive* primitive = nullptr;
  std::vector<ValueId> operands = {};
  Attributes attributes = {};
  std::vector<Callee> callees = {};
  std::vector<Dim> size_arguments = {};
  std::vector<std::string> size_names = {};
  std::vector<Type> stated_types = {};
  Location location = {};

  NewInstruction view() const;
};

// What an instruction gave: values, and sizes born with them.
struct Given {
  std::vector<ValueId> values;
  std::vector<Dim> sizes;
};

using CalleeNames = std::unordered_map<std::string, std::string>;

// Brings instructions of one function into another that is being built, and remembers what stands
// there for each value and size. Values that were not brought over, or said to be another, are a
// ValueError.
class Copier {
 public:
  // Callees that are not among the names keep theirs.
  Copier(const Function& from, FunctionBuilder& into, CalleeNames callees = {});

  void set(ValueId from, ValueId to) { values_[from] = to; }
  void set_size(Dim from, Dim to);
  void set_results(const Instruction& from, const Given& to);  // takes labels along

  bool has(ValueId from) const;
  ValueId value(ValueId from) const;
  std::vector<ValueId> values(std::span<const ValueId> from) const;
  Dim size(Dim from) const { return sizes_.empty() ? from : from.substitute(sizes_); }
  std::vector<Dim> sizes(std::span<const Dim> from) const;
  Type type(const Type& from) const { return sizes_.empty() ? from : from.substitute(sizes_); }
  std::vector<Type> types(std::span<const Type> from) const;
  Callee callee(const Callee& from) const;

  // The instruction in terms of the function that is being built.
  Draft draft(const Instruction& from) const;
  Given add(const Draft& draft);
  void copy(const Instruction& from) { set_results(from, add(draft(from))); }
  // All parameters of the source were declared in the function that is being built, in order.
  void set_parameters();
  std::shared_ptr<const Function> finish();  // gives what the source gives

 private:
  std::string free_size_name(std::string_view wanted) const;

  const Function& from_;
  FunctionBuilder& into_;
  CalleeNames callees_;
  std::vector<ValueId> values_;
  SymbolMap<Dim> sizes_;
  size_t named_until_;  // what earlier instructions of `into_` give has its labels
};

struct CopyOptions {
  std::string name = {};      // of the copy; "" keeps the function's
  CalleeNames callees = {};   // those that are called otherwise in the copy
  SymbolMap<Dim> sizes = {};  // new names for sizes
};

// The signature under other names for its sizes.
Signature renamed(const Signature& signature, const SymbolMap<Dim>& sizes);
std::vector<std::string> parameter_labels(const Function& function);
std::shared_ptr<const Function> copy(const Function& function, const Declarations& declarations,
                                     const CopyOptions& options);

}  // namespace plait::ir
