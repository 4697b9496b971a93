// Recursive functions of the IR, and the functions that are derived from them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/ir/program.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

// True if a function of the program calls itself, directly or through others.
bool has_recursion(const ir::Program& program);
bool has_pulls(const ir::Program& program);

// A function of a program. If it is the reverse derivative of another one, that one is known too,
// and a call is a `pull`, which names both.
class RecursiveFunction {
 public:
  RecursiveFunction(const ir::Program& program, const ir::Function& function)
      : program_(program), function_(function) {}
  // This function as the reverse derivative of another, by the wanted parameters of that one.
  RecursiveFunction derivative_of(const RecursiveFunction& of,
                                  std::span<const int64_t> wanted) const;

  const ir::Program& program() const { return program_; }
  const ir::Function& function() const { return function_; }
  const ir::Signature& signature() const { return function_.signature(); }
  // Null if it is not a reverse derivative.
  const RecursiveFunction* differentiated() const { return of_.get(); }
  const std::vector<int64_t>& wanted() const { return wanted_; }

  // Runs the body once; calls of the function itself remain calls.
  TensorFunction body() const;
  // Records a call into the open trace, whose program then includes the function.
  std::vector<Tensor> record_call(std::span<const Tensor> operands) const;

 private:
  ir::Callee callee(std::span<const Tensor> operands) const;

  ir::Program program_;
  const ir::Function& function_;
  std::shared_ptr<const RecursiveFunction> of_ = nullptr;
  std::vector<int64_t> wanted_ = {};
};

// How another function is made of a recursive one. Where that one calls itself, the new function
// calls itself too: while it is recorded, `body` finds it open.
struct Derived {
  std::string kind;         // distinguishes it from others made of the same function
  ir::Signature signature;  // parameters and results
  TensorFunction body;
  // If it is a reverse derivative: the function, and the parameters to differentiate by.
  std::shared_ptr<const RecursiveFunction> pulled = nullptr;
  std::vector<int64_t> wanted = {};
  bool finds_results = false;  // the signature lacks results; recording finds them
};
// The function of that kind that is being recorded and takes these operands; null if there is none.
OpenRecursion* find_open(const RecursiveFunction& of, const std::string& kind,
                         std::span<const Tensor> operands);
// Records it, unless the cache has it.
StagedFunction stage_derived(const RecursiveFunction& of, const Derived& derived);

// "101" for a kind that depends on flags.
std::string bits(const std::vector<bool>& flags);

}  // namespace plait
