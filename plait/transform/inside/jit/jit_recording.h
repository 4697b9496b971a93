// Recording of one path through a jitted function. Its host code runs; its operations are executed
// only as far as host code reads values.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/core/ambient.h"
#include "plait/core/location.h"
#include "plait/tensor/inside/effect_log.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/jit.h"

namespace plait::jits {

// A record. It is valid if the guards have the same outcomes and its facts hold.
struct Record {
  ir::Program program;
  std::vector<Tensor> hidden;  // arguments that the caller does not pass: captures
  std::vector<bool> outcomes;  // outcomes of the guards, in order
  std::vector<Location> places;
  std::shared_ptr<const std::any> result;
  std::vector<size_t> empty_leaves;  // empty leaves of the result: the program does not return them
  JitExecutable run;

  Outcome outcome_of(std::vector<Tensor> results) const;
  const std::vector<SizeFact>& facts() const { return program.entry().signature().facts; }
};

struct Recording {
  std::shared_ptr<Record> record;  // null if it must not be reused: the host code has read numbers
  // The outcome of this call, without derivatives. Without leaves if the record is to be run.
  Outcome outcome;
  bool is_to_run = false;
  // By result, where tensors that the host code has stored elsewhere expect it; or null.
  std::vector<std::shared_ptr<Tensor>> expected;
  bool captures_followed = false;  // it captures tensors that a derivative follows
  Location read;                   // place of the first read of a number
  bool has_failed = false;         // an operation failed, and the host code caught the error
};

// While it exists and the options have `fullgraph`, reads of values on this thread are errors, even
// if the function that is recorded allows them.
class Fullgraph {
 public:
  explicit Fullgraph(const JitOptions& options)
      : outer_(std::exchange(ambient.fullgraph, options.fullgraph ? &options : ambient.fullgraph)) {
  }
  ~Fullgraph() { ambient.fullgraph = outer_; }
  Fullgraph(const Fullgraph&) = delete;
  Fullgraph& operator=(const Fullgraph&) = delete;

  static const JitOptions* current() { return ambient.fullgraph; }  // null if there is none

 private:
  const JitOptions* const outer_;
};

struct ToRecord {
  const JitOptions& options;
  std::span<const ir::Type> types;  // types of the leaves
  const JitArguments& leaves;
  std::span<const std::string> paths;
  std::span<const SizeFact> facts;  // promised facts
  HostFunction host;
  // Asked once, when the host code has run and there is a record: true if it is to be run, too.
  FunctionRef<bool(bool captures_followed)> runs_record;
};
// Runs and records the host code. Observable effects happen unless the log already has them. If the
// host code throws, nothing is kept.
Recording record(const ToRecord& what, EffectLog& log);

}  // namespace plait::jits
