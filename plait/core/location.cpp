#include "plait/core/location.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <unordered_map>

#include <dlfcn.h>
#include <fmt/core.h>
#include <unwind.h>

#include "plait/core/ambient.h"
#include "plait/core/call_in_progress.h"
#include "plait/core/inside/caller_source.h"
#include "plait/core/inside/source_line.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

std::string_view last_component(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path
                                                                     : path.substr(slash + 1);
}

// Lines count from 1; a smaller number means "somewhere in this file".
std::string text_of(std::string_view file, int64_t line) {
  const std::string_view name = last_component(file);
  return line < 1 ? std::string(name) : fmt::format("{}:{}", name, line);
}

// Interns files and lines.
class PlaceTable {
 public:
  uint64_t index_of(std::string_view file, int64_t line) {
    std::string key = fmt::format("{}:{}", file, line);
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = indices_.try_emplace(std::move(key), texts_.size());
    if (is_new) {
      try {
        texts_.push_back(text_of(file, line));
      } catch (...) {
        indices_.erase(place);
        throw;
      }
    }
    return place->second;
  }

  std::string text(uint64_t index) {
    const std::shared_lock lock(mutex_);
    return texts_[index];
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<std::string, uint64_t> indices_;
  std::deque<std::string> texts_;
};

PlaceTable& places() {
  static Immortal<PlaceTable> table;
  return *table;
}

// The call is just before its return address, which may be on another line.
std::string describe_return_address(uintptr_t return_address) {
  const uintptr_t call = return_address - 1;
  if (const auto source = source_line_of(call)) return text_of(source->file, source->line);
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(call), &info) == 0 || info.dli_fname == nullptr) {
    return fmt::format("{:#x}", call);
  }
  return fmt::format("{}+{:#x}", last_component(info.dli_fname),
                     call - reinterpret_cast<uintptr_t>(info.dli_fbase));
}

// Caches texts: reading debug information is slow, and the same lines occur again and again.
class AddressTexts {
 public:
  std::string text(uintptr_t address) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = texts_.find(address); known != texts_.end()) return known->second;
    }
    std::string text = describe_return_address(address);
    const std::lock_guard lock(mutex_);
    return texts_.try_emplace(address, std::move(text)).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, std::string> texts_;
};

// The return addresses of a call stack, innermost first.
class CallStack {
 public:
  static CallStack here() {
    CallStack stack;
    _Unwind_Backtrace(
        [](_Unwind_Context* context, void* data) {
          auto& found = *static_cast<CallStack*>(data);
          found.addresses_[found.size_++] = _Unwind_GetIP(context);
          return found.size_ < kMost ? _URC_NO_REASON : _URC_END_OF_STACK;
        },
        &stack);
    return stack;
  }

  static CallStack of(uintptr_t address) {
    CallStack stack;
    stack.addresses_[stack.size_++] = address;
    return stack;
  }

  std::span<const uintptr_t> addresses() const { return std::span(addresses_).first(size_); }
  friend bool operator==(const CallStack& a, const CallStack& b) {
    return std::ranges::equal(a.addresses(), b.addresses());
  }

 private:
  static constexpr size_t kMost = 48;
  std::array<uintptr_t, kMost> addresses_;
  size_t size_ = 0;
};

struct CallStackHash {
  size_t operator()(const CallStack& stack) const {
    const auto bytes = std::as_bytes(stack.addresses());
    return std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
};

bool is_in_system_library(uintptr_t address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || !info.dli_fname) return false;
  const std::string_view file = info.dli_fname;
  return file.starts_with("/lib") || file.starts_with("/usr/lib");
}

// Interns call stacks.
class StackTable {
 public:
  uint64_t index_of(const CallStack& stack) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = indices_.try_emplace(stack, stacks_.size());
    if (is_new) stacks_.push_back(&place->first);
    return place->second;
  }

  // The return address of the user's call; 0 if there is none on the stack.
  uintptr_t caller(uint64_t index) {
    const std::lock_guard lock(mutex_);
    for (const uintptr_t address : stacks_[index]->addresses()) {
      const auto source = source_line_of(address - 1);
      if (source ? !is_inside(source->file) : !is_in_system_library(address)) return address;
    }
    return 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<CallStack, uint64_t, CallStackHash> indices_;
  std::deque<const CallStack*> stacks_;
};

StackTable& stacks() {
  static Immortal<StackTable> table;
  return *table;
}

// True if the user's code made the call that returns there: in a function of the user's, or inlined
// into one of Plait's.
bool is_made_by_user(uintptr_t return_address) {
  const uintptr_t call = return_address - 1;
  if (is_in_users_function(call)) return true;
  const auto source = source_line_of(call);
  return source && !is_inside(source->file);
}

// Caches is_made_by_user, which is slow, for each address.
class UserCalls {
 public:
  bool holds(uintptr_t address) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto known = known_.find(address); known != known_.end()) return known->second;
    }
    const bool is_users = is_made_by_user(address);
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(address, is_users).first->second;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<uintptr_t, bool> known_;
};

bool returns_to_user(uintptr_t address) {
  struct Known {
    uintptr_t address;
    bool is_users;
  };
  thread_local std::array<Known, 256> known{};
  Known& here = known[address / 4 % known.size()];
  if (here.address != address) {
    static Immortal<UserCalls> calls;
    here = {address, calls->holds(address)};
  }
  return here.is_users;
}

std::atomic<Location (*)()> caller_source = nullptr;

}  // namespace

std::string text_of_return_address(uintptr_t address) {
  static Immortal<AddressTexts> texts;
  return texts->text(address);
}

Location Location::of(std::string_view file, int64_t line) {
  if (file.empty()) return {};
  return Location(places().index_of(file, std::max<int64_t>(line, 0)) << 2 | 1);
}

Location Location::of_caller() {
  return ambient.location.known() ? ambient.location : of_outermost_caller();
}

Location Location::of_outermost_caller() {
  if (const auto source = caller_source.load(std::memory_order_acquire)) {
    if (const Location told = source(); told.known()) return told;
  }
  const CallInProgress* const call = CallInProgress::outermost();
  const CallStack stack = call != nullptr && returns_to_user(call->returns_to())
                              ? CallStack::of(call->returns_to())
                              : CallStack::here();
  return Location(stacks().index_of(stack) << 2 | 3);
}

LocationScope::LocationScope(Location location) : outer_(ambient.location) {
  if (location.known()) ambient.location = location;
}

LocationScope::~LocationScope() { ambient.location = outer_; }

void set_caller_source(Location (*source)()) {
  caller_source.store(source, std::memory_order_release);
}

std::string Location::text() const {
  if (!known()) return {};
  const uint64_t word = word_ & ~kBackwardPass;
  try {
    if ((word & 2) == 0) return places().text(word >> 2);
    const uintptr_t caller = stacks().caller(word >> 2);
    return caller == 0 ? std::string() : text_of_return_address(caller);
  } catch (...) {
    return {};  // an error message without a location is better than none
  }
}

}  // namespace plait
