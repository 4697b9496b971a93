// Copies functions, as a whole or instruction by instruction, under other names. All transforms use
// it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/builder.h"

namespace plait::ir {

// The signatures of these functions and the records; of two with the same name, the first.
Declarations declarations_of(std::span<const std::shared_ptr<const Function>> functions,
                             std::span<const RecordType> records);
Declarations declarations_of(const Program& program);

// An instruction to be added, which owns its parts.
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

// The results of an added instruction: values and data-dependent sizes.
struct Given {
  std::vector<ValueId> values;
  std::vector<Dim> sizes;
};

using CalleeNames = std::unordered_map<std::string, std::string>;

// Copies instructions of one function into another that is being built, with a map from old to new
// values and sizes. ValueError for a value that is not in the map.
class Copier {
 public:
  // Callees that are not among the names keep theirs.
  Copier(const Function& from, FunctionBuilder& into, CalleeNames callees = {});

  void set(ValueId from, ValueId to) { values_[from] = to; }
  void set_size(Dim from, Dim to);
  void set_results(const Instruction& from, const Given& to);  // copies labels too

  bool has(ValueId from) const;
  ValueId value(ValueId from) const;
  std::vector<ValueId> values(std::span<const ValueId> from) const;
  Dim size(Dim from) const { return sizes_.empty() ? from : from.substitute(sizes_); }
  std::vector<Dim> sizes(std::span<const Dim> from) const;
  Type type(const Type& from) const { return sizes_.empty() ? from : from.substitute(sizes_); }
  std::vector<Type> types(std::span<const Type> from) const;
  Callee callee(const Callee& from) const;

  // The instruction with mapped operands and sizes.
  Draft draft(const Instruction& from) const;
  Given add(const Draft& draft);
  void copy(const Instruction& from) { set_results(from, add(draft(from))); }
  // Declares the new function like the source: signature, labels, location. Maps the parameters.
  void begin();
  // Maps all parameters of the source to the parameters of the new function, in order. They must
  // have been declared.
  void set_parameters();
  std::shared_ptr<const Function> finish();  // with the results of the source

 private:
  std::string free_size_name(std::string_view wanted) const;

  const Function& from_;
  FunctionBuilder& into_;
  CalleeNames callees_;
  std::vector<ValueId> values_;
  SymbolMap<Dim> sizes_;
  size_t named_until_;  // results of earlier instructions of `into_` have their labels
};

struct CopyOptions {
  std::string name = {};      // name of the copy; "" keeps the name
  CalleeNames callees = {};   // callees that are renamed
  SymbolMap<Dim> sizes = {};  // new names for sizes
};

// The signature with renamed sizes.
Signature renamed(const Signature& signature, const SymbolMap<Dim>& sizes);
std::vector<std::string> parameter_labels(const Function& function);
std::shared_ptr<const Function> copy(const Function& function, const Declarations& declarations,
                                     const CopyOptions& options);

}  // namespace plait::ir
