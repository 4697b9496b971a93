// NaN and infinities, looked for while something is computed: the first one that appears is an
// error, which names the operation and the line.
//
//   const DetectAnomaly detect;
//   train(model);
#pragma once

#include <atomic>
#include <cstdint>

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

namespace anomaly_detail {

// 0 where nobody looks. The lowest bit: the setting is on, or has not been read; above it, how many
// DetectAnomaly live.
inline constinit std::atomic<uint32_t> reasons{1};
Anomaly of_thread();

}  // namespace anomaly_detail

// What this thread looks for. One relaxed load where nobody does.
inline Anomaly detected_anomaly() {
  return anomaly_detail::reasons.load(std::memory_order_relaxed) == 0 ? Anomaly::none
                                                                      : anomaly_detail::of_thread();
}
inline bool detects_anomaly() { return detected_anomaly() != Anomaly::none; }

// The setting has changed.
void refresh_anomaly_detection();

}  // namespace plait
