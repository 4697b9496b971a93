// A program: functions that call each other by name, and the records they use. Immutable and
// shared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/function.h"

namespace plait::ir {

class Program {
 public:
  Program();  // no functions

  // The first function is the entry. CompileError if a name is taken or a callee is missing.
  static Program of(std::vector<std::shared_ptr<const Function>> functions,
                    std::vector<RecordType> records = {});

  bool empty() const { return functions().empty(); }
  std::span<const std::shared_ptr<const Function>> functions() const&;
  std::span<const std::shared_ptr<const Function>> functions() const&& = delete;  // would dangle
  const Function& function(size_t i) const { return *functions()[i]; }
  const Function& entry() const;                          // ValueError if there is none
  const Function* find(std::string_view name) const;      // null if absent
  const Function& function(std::string_view name) const;  // KeyError
  size_t index_of(std::string_view name) const;           // KeyError

  std::span<const RecordType> records() const;
  const RecordType* find_record(std::string_view name) const;

  // The callees of an instruction as indices into functions(), in order.
  std::span<const uint32_t> callees_of(size_t function, const Instruction& instruction) const;

  std::string text() const;                           // printer.h has options
  static Program parse(std::string_view text);        // verified
  std::string bytes() const;                          // the binary form
  static Program from_bytes(std::string_view bytes);  // verified

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

// True if the predicate is true for some instruction of the program's functions.
template <class Holds>
bool any_instruction(const Program& program, const Holds& holds) {
  for (const auto& function : program.functions()) {
    for (const Instruction instruction : function->instructions()) {
      if (holds(instruction)) return true;
    }
  }
  return false;
}

}  // namespace plait::ir
