// One way through a function that is jitted, recorded while it runs.
#pragma once

#include <any>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/core/location.h"
#include "plait/tensor/inside/effect_log.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/jit.h"

namespace plait::jits {

// What was recorded; holds where the guards come out as they did, and its facts hold.
struct Way {
  ir::Program program;
  std::vector<Tensor> hidden;  // arguments that the caller does not know of
  std::vector<bool> outcomes;  // of guards, in order
  std::vector<Location> places;
  std::shared_ptr<const std::any> result;
  JitExecutable run;

  const std::vector<SizeFact>& facts() const { return program.entry().signature().facts; }
};

struct Recording {
  std::shared_ptr<Way> way;  // null where it must not be used again: the host code has read numbers
  Outcome outcome;           // of this time, which no derivative goes through
  bool takes_followed = false;  // from elsewhere: a derivative goes through what it computes
  Location read;                // where the first number was read
  bool has_failed = false;      // something did that the host code has caught
};

// While one is there whose options say `fullgraph`, reads on its thread are errors although the
// function that is recorded allows them.
class Fullgraph {
 public:
  explicit Fullgraph(const JitOptions& options)
      : outer_(std::exchange(current_, options.fullgraph ? &options : current_)) {}
  ~Fullgraph() { current_ = outer_; }
  Fullgraph(const Fullgraph&) = delete;
  Fullgraph& operator=(const Fullgraph&) = delete;

  static const JitOptions* current() { return current_; }  // null for none

 private:
  static inline constinit thread_local const JitOptions* current_ = nullptr;
  const JitOptions* const outer_;
};

struct ToRecord {
  const JitOptions& options;
  std::span<const ir::Type> types;  // of the leaves
  const JitArguments& leaves;
  std::span<const std::string> paths;
  std::span<const SizeFact> facts;  // that are promised
  HostFunction host;
};
// What the host code does that is seen from outside is done unless the log has it. Where the host
// code throws, nothing has happened but that.
Recording record(const ToRecord& what, EffectLog& log);

}  // namespace plait::jits
