#include "plait/core/anomaly.h"

#include <mutex>
#include <utility>

#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

constexpr int kAsSet = -1;  // the setting applies
constexpr uint32_t kSetting = 1, kScope = 2;
thread_local int anomaly_of_thread = kAsSet;

void refresh_anomaly_detection() {
  static Immortal<std::mutex> mutex;
  // The setting is read under the lock, so that the last caller stores its latest value.
  const std::lock_guard lock(*mutex);
  if (setting::kDetectAnomaly.get()) {
    anomaly_detail::reasons.fetch_or(kSetting, std::memory_order_relaxed);
  } else {
    anomaly_detail::reasons.fetch_and(~kSetting, std::memory_order_relaxed);
  }
}

}  // namespace

namespace setting {
constinit Setting<bool> kDetectAnomaly(
    {.name = "detect_anomaly",
     .standard = "false",
     .description = "whether the first NaN or infinity that appears is an error",
     .changed = refresh_anomaly_detection});
}

namespace {
const ListedSettings anomaly_settings{&setting::kDetectAnomaly};
}

DetectAnomaly::DetectAnomaly(Anomaly anomaly)
    : outer_(std::exchange(anomaly_of_thread, static_cast<int>(anomaly))) {
  anomaly_detail::reasons.fetch_add(kScope, std::memory_order_relaxed);
}

DetectAnomaly::~DetectAnomaly() {
  anomaly_detail::reasons.fetch_sub(kScope, std::memory_order_relaxed);
  anomaly_of_thread = outer_;
}

Anomaly anomaly_detail::of_thread() {
  if (anomaly_of_thread != kAsSet) return static_cast<Anomaly>(anomaly_of_thread);
  if ((reasons.load(std::memory_order_relaxed) & kSetting) == 0) return Anomaly::none;
  refresh_anomaly_detection();
  return setting::kDetectAnomaly.get() ? Anomaly::nan_or_inf : Anomaly::none;
}

}  // namespace plait
