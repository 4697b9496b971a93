// The processor on which a tensor is stored and computed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

struct Device {
  enum class Kind : uint8_t { cpu, cuda };
  static constexpr int kMost = 16;  // devices of a kind

  constexpr Device() = default;  // the CPU
  constexpr explicit Device(Kind of, uint8_t place = 0) : kind(of), index(place) {}
  // "cpu", "cuda" or "cuda:1"; "gpu" is another name of "cuda". DeviceError for other names.
  // Whether the machine has the device is not asked.
  explicit Device(std::string_view name);

  constexpr bool is_cpu() const { return kind == Kind::cpu; }
  friend constexpr bool operator==(const Device&, const Device&) = default;

  Kind kind = Kind::cpu;
  uint8_t index = 0;
};

// "cpu", "cuda:0".
std::string text_of(Device device);

// Where tensors are made unless the call names a device: within a function of the library where its
// operands are; else as the innermost DeviceScope of the thread says; else as the setting
// `default_device` says.
Device default_device();

// While one exists, its thread makes tensors on this device: const DeviceScope on(Device("cuda")).
class DeviceScope {
 public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  int outer_;
};

}  // namespace plait
