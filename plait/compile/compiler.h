// The compiler: a program becomes something that runs it.
//
//   Compiled compiled(program);
//   std::vector<Tensor> results = compiled(arguments);
//
// jit uses it by itself, as the backend "compiler".
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "plait/compile/pass.h"
#include "plait/transform/jit.h"

namespace plait::compile {

class LoadedPlan;
struct ExecutionOptions;  // inside/running/execution.h, as what follows
struct ExecutionResults;
struct Plan;

struct CompileOptions {
  // Kernels of the library alone, which are there at once.
  bool makes_kernels = true;
  PassObserver observer = {};
};

// Of a verified program, whose parameters and results are arrays and records.
class Compiled {
 public:
  explicit Compiled(const ir::Program& program, const CompileOptions& options = {});

  // Arguments of the types of the program's parameters. CheckError where a guard does not hold.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments) const;
  std::vector<Tensor> operator()(std::span<const Tensor> arguments,
                                 const ExecutionOptions& options) const;
  // Those that are donated may be overwritten; one that is not read may be an empty tensor.
  std::vector<Tensor> run_donated(std::vector<Tensor> arguments,
                                  const ExecutionOptions& options) const;
  // Values of any kind, checked against the types of the parameters; `known` are sizes of the
  // program that its arguments do not show.
  ExecutionResults run_values(std::vector<ir::Value> arguments, const SymbolMap<int64_t>& known,
                              const ExecutionOptions& options) const;
  const Plan& plan() const;
  bool reads(size_t parameter) const { return reads_[parameter]; }

 private:
  std::shared_ptr<const LoadedPlan> loaded_;
  std::vector<bool> reads_;  // of each parameter
};

}  // namespace plait::compile
