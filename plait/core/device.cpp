#include "plait/core/device.h"

#include <charconv>
#include <utility>

#include <fmt/core.h>

#include "plait/core/ambient.h"
#include "plait/core/call_in_progress.h"
#include "plait/core/error.h"
#include "plait/core/settings.h"

namespace plait {

namespace setting {
namespace {
constinit Setting<std::string> kDefaultDevice(
    {.name = "default_device",
     .standard = "cpu",
     .description = "where tensors are made unless the call names a device",
     .form = "cpu, cuda or cuda:1",
     .check = [](std::string_view name) { (void)Device(name); }});
const ListedSettings device_settings{&kDefaultDevice};
}  // namespace
}  // namespace setting

namespace {

int word_of(Device device) { return static_cast<int>(device.kind) << 8 | device.index; }
Device device_of_word(int word) {
  return Device(static_cast<Device::Kind>(word >> 8), static_cast<uint8_t>(word));
}

}  // namespace

Device::Device(std::string_view name) {
  if (name == "cpu" || name == "cpu:0") return;
  kind = Kind::cuda;
  const size_t colon = name.find(':');
  const std::string_view family = name.substr(0, colon);
  const std::string_view number = colon == std::string_view::npos ? "0" : name.substr(colon + 1);
  const auto [end, problem] = std::from_chars(number.begin(), number.end(), index);
  if ((family != "cuda" && family != "gpu") || problem != std::errc() || end != number.end() ||
      index >= kMost) {
    throw DeviceError("unknown device '{}'", name).hint("the devices are cpu, cuda, cuda:1, …");
  }
}

std::string text_of(Device device) {
  return device.is_cpu() ? "cpu" : fmt::format("cuda:{}", device.index);
}

Device default_device() {
  Device device;
  const CallInProgress* const call = CallInProgress::outermost();
  if (call != nullptr && call->find_device(device)) return device;
  return ambient.device < 0 ? Device(setting::kDefaultDevice.get())
                            : device_of_word(ambient.device);
}

DeviceScope::DeviceScope(Device device) : outer_(std::exchange(ambient.device, word_of(device))) {}

DeviceScope::~DeviceScope() { ambient.device = outer_; }

}  // namespace plait
