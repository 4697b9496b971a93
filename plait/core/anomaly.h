// Detection of NaN and infinities: the first one that appears raises an error that names the
// operation and the source line.
//
//   const DetectAnomaly detect;
//   train(model);
#pragma once

#include <atomic>
#include <cstdint>

#include "plait/core/settings.h"

namespace plait {

namespace setting {
extern Setting<bool> kDetectAnomaly;
}

enum class Anomaly : uint8_t { none, nan, nan_or_inf };

// While one exists, an operation on this thread raises a CheckError if its result has a NaN and its
// operands had none, or an infinity and its operands had neither. This holds for eager operations,
// backward passes (the error names the line of the forward operation) and programs, which jit then
// runs instruction by instruction. Values that the user writes (full, -inf of a mask) are not
// anomalies. The setting detect_anomaly (PLAIT_DETECT_ANOMALY=on) enables it for the whole process.
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

// 0 if detection is off everywhere. Lowest bit: the setting is on, or has not been read yet; the
// other bits count the DetectAnomaly objects.
inline constinit std::atomic<uint32_t> reasons{1};
Anomaly of_thread();

}  // namespace anomaly_detail

// The anomalies that this thread detects. One relaxed load if detection is off.
inline Anomaly detected_anomaly() {
  return anomaly_detail::reasons.load(std::memory_order_relaxed) == 0 ? Anomaly::none
                                                                      : anomaly_detail::of_thread();
}
inline bool detects_anomaly() { return detected_anomaly() != Anomaly::none; }

}  // namespace plait
