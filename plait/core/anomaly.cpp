#include "plait/core/anomaly.h"

#include <mutex>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

constexpr int kAsSet = Ambient{}.anomaly;  // the setting applies
constexpr uint32_t kSetting = 1, kScope = 2;

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
    : outer_(std::exchange(ambient.anomaly, static_cast<int>(anomaly))) {
  anomaly_detail::reasons.fetch_add(kScope, std::memory_order_relaxed);
}

DetectAnomaly::~DetectAnomaly() {
  anomaly_detail::reasons.fetch_sub(kScope, std::memory_order_relaxed);
  ambient.anomaly = outer_;
}

Anomaly anomaly_detail::of_thread() {
  if (ambient.anomaly != kAsSet) return static_cast<Anomaly>(ambient.anomaly);
  if ((reasons.load(std::memory_order_relaxed) & kSetting) == 0) return Anomaly::none;
  refresh_anomaly_detection();
  return setting::kDetectAnomaly.get() ? Anomaly::nan_or_inf : Anomaly::none;
}

}  // namespace plait
