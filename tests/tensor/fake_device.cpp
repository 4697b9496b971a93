#include "tests/tensor/fake_device.h"

#include <atomic>
#include <cstdlib>

#include "plait/tensor/memory/array.h"

namespace plait {
namespace {

constexpr uintptr_t kNotCanonical = uintptr_t{1} << 60;
constexpr int kDevices = 2;
std::atomic<int64_t> used = 0, most = -1;

// The same elements at addresses that the host can use.
Array seen_from_host(const Array& array) {
  if (array.is_on_host()) return array;
  return {array.dtype(), array.layout(),
          Buffer::adopt(fake_device_bytes(array.buffer().data()), {})};
}

class FakeDeviceMemory : public DeviceMemory {
 public:
  std::byte* allocate(int64_t bytes) override {
    if (most >= 0 && used + bytes > most) return nullptr;
    const auto rounded = static_cast<size_t>((bytes + 511) / 256 * 256);
    used += bytes;
    void* memory = std::aligned_alloc(256, rounded);
    return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(memory) | kNotCanonical);
  }
  void free(std::byte* data, int64_t bytes) noexcept override {
    used -= bytes;
    std::free(fake_device_bytes(data));
  }
  void copy(const Array& from, Array& to) override {
    Array target = seen_from_host(to);
    copy_elements(seen_from_host(from), target);
  }
  void synchronize() override {}
  int64_t free_bytes() override { return most - used; }
  uintptr_t stream() const override { return 0; }
  void finish_before(uintptr_t) override {}
};

}  // namespace

void use_fake_devices() {
  static const bool are_registered = [] {
    register_devices(Device::Kind::cuda,
                     {.count = [] { return kDevices; },
                      .open = [](int index) -> std::unique_ptr<DeviceMemory> {
                        return index < kDevices ? std::make_unique<FakeDeviceMemory>() : nullptr;
                      }});
    return true;
  }();
  (void)are_registered;
}

std::byte* fake_device_bytes(std::byte* data) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<uintptr_t>(data) & ~kNotCanonical);
}

void limit_fake_devices(int64_t bytes) { most = bytes; }

}  // namespace plait
