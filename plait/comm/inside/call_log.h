// The last calls and messages of this process, in all its groups, for those who look for the cause
// of a failure.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plait/comm/inside/calls/collective_call.h"
#include "plait/comm/inside/calls/message.h"

namespace plait::dist {

class CallLog {
 public:
  static CallLog& of_process();

  // The number of the entry. `group` says which one, and the rank there.
  uint64_t begin(const std::shared_ptr<const std::string>& group, const Call& call);
  uint64_t begin(const std::shared_ptr<const std::string>& group, const Message& message);
  void end(uint64_t entry, bool has_failed);

  // A line for each, the last one last.
  std::string text() const;
  // To a file in the folder that the setting `call_log` names, if it names one: once for a reason.
  void write(const std::string& reason);

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : uint8_t { in_progress, done, failed };
  struct Entry {
    std::shared_ptr<const std::string> group;
    bool is_message = false;
    CallSummary summary;
    bool is_sent = false;
    int tag = 0;  // that of a message; the root of its summary is the peer
    Location where;
    Clock::time_point begun, ended;
    State state = State::in_progress;
  };

  uint64_t add(Entry entry);
  static std::string line_of(uint64_t number, const Entry& entry, Clock::time_point now);

  mutable std::mutex mutex_;    // guards the members below
  std::vector<Entry> entries_;  // a ring: entry n is at n % kCalls
  uint64_t count_ = 0;
  std::string written_;  // the last reason
};

}  // namespace plait::dist
