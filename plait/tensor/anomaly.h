// NaN and infinities, looked for while something is computed: the first one that appears is an
// error, which names the operation and the line.
//
//   const DetectAnomaly detect;
//   train(model);
#pragma once

#include <cstdint>

#include "plait/core/settings.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"

namespace plait {

enum class Anomaly : uint8_t { none, nan, nan_or_inf };

// While this lives, a CheckError where an operation on this thread gives a NaN though it was given
// none, or an infinity though it was given neither: eagerly, in a backward pass (the error names
// the line of the operation that the gradient is of), and in programs, which jit runs instruction
// by instruction meanwhile. What the user writes (full, -inf of a mask) is no anomaly. The setting
// detect_anomaly (PLAIT_DETECT_ANOMALY=on) does so for the whole process.
class DetectAnomaly {
 public:
  explicit DetectAnomaly(Anomaly anomaly = Anomaly::nan_or_inf);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

 private:
  const int outer_;
};

namespace anomalies {

inline constexpr int kAsSet = -1;  // as the setting says
inline constinit thread_local int of_thread = kAsSet;
void run_detecting(const Kernel& kernel, KernelCall& call);

}  // namespace anomalies

// On this thread.
inline bool detects_anomaly() {
  const int anomaly = anomalies::of_thread;
  return anomaly == anomalies::kAsSet ? setting::kDetectAnomaly.get()
                                      : anomaly != static_cast<int>(Anomaly::none);
}

// Every kernel of an instruction runs here.
inline void run_kernel(const Kernel& kernel, KernelCall& call) {
  if (detects_anomaly()) return anomalies::run_detecting(kernel, call);
  kernel.run(call, kernel.data);
}

// While one is there, what its thread computes is the backward pass of this operation, for errors
// to name. Null: of a rule that has no name.
class BackwardPassOf {
 public:
  explicit BackwardPassOf(const ir::Primitive* primitive) : outer_(current_) {
    current_ = primitive;
  }
  ~BackwardPassOf() { current_ = outer_; }
  BackwardPassOf(const BackwardPassOf&) = delete;
  BackwardPassOf& operator=(const BackwardPassOf&) = delete;

  static const ir::Primitive* current() { return current_; }

 private:
  static inline constinit thread_local const ir::Primitive* current_ = nullptr;

  const ir::Primitive* outer_;
};

}  // namespace plait
