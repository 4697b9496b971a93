#include "plait/compile/inside/targets/target.h"

#include <map>
#include <mutex>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait::compile {
namespace {

// Targets are never destroyed: their kernels may outlive everything else.
struct Targets {
  struct Entry {
    std::unique_ptr<const Target> (*open)() = nullptr;
    bool is_open = false;
    std::unique_ptr<const Target> target = {};
  };
  std::mutex mutex;
  std::map<Device::Kind, Entry> entries;
};
Targets& targets() {
  static Immortal<Targets> all;
  return *all;
}

}  // namespace

const Target* find_target(Device::Kind device) {
  static const bool is_registered = (register_cpu_target(), true);
  (void)is_registered;
  const std::lock_guard lock(targets().mutex);
  const auto found = targets().entries.find(device);
  if (found == targets().entries.end()) return nullptr;
  Targets::Entry& entry = found->second;
  if (!entry.is_open) {
    entry.target = entry.open();
    entry.is_open = true;
  }
  return entry.target.get();
}

void register_target(Device::Kind device, std::unique_ptr<const Target> (*open)()) {
  const std::lock_guard lock(targets().mutex);
  Targets::Entry& entry = targets().entries[device];
  if (entry.is_open) {
    throw ValueError("the target of {} is in use already", text_of(Device(device)));
  }
  entry.open = open;
}

}  // namespace plait::compile
