// The compiler: turns a program into an executable.
//
//   Compiled compiled(program);
//   std::vector<Tensor> results = compiled(arguments);
//
// It is the backend "compiler", the default of jit.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plait/compile/pass.h"
#include "plait/core/device.h"
#include "plait/transform/jit.h"

namespace plait::compile {

class LoadedPlan;

struct CompileOptions {
  // If false, uses only precompiled kernels of the library, for a fast compilation.
  bool makes_kernels = true;
  // The kind of device that the arguments are on, for which kernels are compiled.
  Device::Kind device = Device::Kind::cpu;
  PassObserver observer = {};
  // More of the forward pass is computed again in the backward pass, until the program fits. At
  // most 1: a share of the temporaries that it has otherwise; above: bytes for arguments, results
  // and temporaries (planned_memory.h). A warning is logged if that cannot be.
  std::optional<double> memory_budget = {};
};

// Compiles a verified program, whose parameters and results are arrays and records.
class Compiled {
 public:
  explicit Compiled(const ir::Program& program, const CompileOptions& options = {});

  // The arguments have the types of the program's parameters. CheckError if a guard fails.
  std::vector<Tensor> operator()(std::span<const Tensor> arguments) const;
  bool reads(size_t parameter) const { return reads_[parameter]; }

 private:
  friend struct CompiledAccess;

  std::shared_ptr<const LoadedPlan> loaded_;
  std::vector<bool> reads_;  // one a parameter
};

}  // namespace plait::compile
