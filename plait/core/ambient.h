// State set by the scopes that are open on a thread. A scope (a Trace, NoGrad, AutocastScope, …)
// changes its member while it exists; others ask through the class of the scope, as in
// Trace::current().
#pragma once

#include <cstdint>

#include "plait/core/location.h"

namespace plait {

class AutocastScope;
class CallInProgress;
class CommunicatorScope;
class EffectLog;
class EndedTraces;
class NamedAxisScope;
class OpenRecursion;
class RowRecorder;
class SizeReader;
class Sketch;
class TapeScope;
class Trace;
struct JitOptions;
struct PausedLevels;
namespace ir {
struct Primitive;
}
namespace random {
struct DefaultStream;
}

// In the order in which an operation asks. Null, 0 and false: no such scope is open.
struct Ambient {
  // Its name and the user's line, for errors and instructions.
  const CallInProgress* call = nullptr;
  Location location;

  // Its operands: cast, made to vary along the same axes, and followed by the levels of derivatives
  // that are not paused.
  const AutocastScope* autocast = nullptr;
  NamedAxisScope* axes = nullptr;  // the innermost
  const PausedLevels* paused_levels = nullptr;
  int no_grads = 0;
  int level_resumes = 0;

  // Where its derivative is recorded.
  const Sketch* sketch = nullptr;

  // Where it is recorded itself; if anywhere, no kernel runs unless the trace runs it.
  Trace* trace = nullptr;
  const TapeScope* tapes = nullptr;
  const JitOptions* fullgraph = nullptr;
  OpenRecursion* recursion = nullptr;  // the innermost
  int recorded_rules = 0;              // custom rules that are being recorded
  SizeReader* size_reader = nullptr;   // asked for the numbers of symbolic sizes
  EndedTraces* ended_traces = nullptr;

  // Where its result is, if it has no operands: DeviceScope; -1: as the setting says.
  int device = -1;

  // How its kernel runs; the ranks along the axes of a program.
  const CommunicatorScope* communicators = nullptr;
  EffectLog* effects = nullptr;
  bool recomputes = false;  // computed before: nothing is printed again
  RowRecorder* rows = nullptr;
  int anomaly = -1;  // Anomaly; -1: as the setting says
  const ir::Primitive* backward_pass_of = nullptr;
  uint16_t memory_tag = 0;
  random::DefaultStream* default_stream = nullptr;  // StreamScope; null: the process's
};

inline constinit thread_local Ambient ambient;

}  // namespace plait
