// Checks values against their types, as far as a machine can tell: kinds, dtypes and sizes.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/ir/evaluation/machine.h"
#include "plait/ir/program.h"

namespace plait::ir {

// The name of a value in messages: "%x" of a function, or a result of an instruction.
using Name = FunctionRef<std::string()>;

// Traverses a value together with its type, and visits each array. No recursion, so lists may have
// any length.
class ValueWalk {
 public:
  ValueWalk(const Program& program, bool into_records)
      : program_(program), into_records_(into_records) {}

  // TypeError if some part is not of the kind in its type. The types of a record's fields contain
  // the record's held sizes as numbers.
  using Visit = FunctionRef<void(const Value& array, const Type& type)>;
  void walk(const Value& value, const Type& type, Name name, Visit visit);

 private:
  struct Item {
    Value value;
    Type type;
  };
  void expand(Item item, Name name);
  void expand_record(const Item& item, Name name);
  bool seen(const Item& item);

  const Program& program_;
  bool into_records_;
  std::vector<Item> pending_;
  std::unordered_map<const void*, std::vector<Type>> seen_;  // parts with several owners
};

// TypeError or ShapeError if an array does not have this type with these sizes.
void check_array(Machine& machine, const Value& array, const Type& type,
                 const SymbolMap<int64_t>& sizes, Name name);

// The values of a function's size parameters, from its arguments and from `known`. Checks the
// arguments against the parameters' types; errors name the parameter.
std::vector<int64_t> sizes_on_entry(const Program& program, const Function& function,
                                    Machine& machine, std::span<const Value> arguments,
                                    const SymbolMap<int64_t>& known);

// "n = 12, m = 3" for the symbols in these expressions that have values.
std::string sizes_text(std::span<const Dim> dims, const SymbolMap<int64_t>& sizes);

}  // namespace plait::ir
