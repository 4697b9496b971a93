// The engine of ranks that reach each other by a Wire.
//
// Transfers of a call have a slot that is a hash of all calls so far and of their size: those of
// ranks that differ never meet, so that nothing is to be compared before. A rank whose call does
// not go on for a while tells the others what it has called, and reads what they have (notice.h).
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "plait/comm/inside/engine.h"
#include "plait/comm/inside/local/doorbell.h"
#include "plait/comm/inside/wires/notice.h"
#include "plait/comm/inside/wires/wire.h"
#include "plait/comm/store.h"

namespace plait::dist {

// In the slots of calls; not in those of messages.
inline constexpr uint64_t kCallSlot = uint64_t{1} << 63;

class WireEngine final : public Engine {
 public:
  // Through this store ranks tell each other why they fail. It is opened before the wire: a rank
  // that has joined may leave, and close the store of the group.
  static std::shared_ptr<Store> open_notices(Store& store, int rank, int size);

  WireEngine(std::unique_ptr<Wire> wire, std::shared_ptr<Store> notices, int rank, int size,
             Duration timeout);
  // Leaves, if that was not done.
  ~WireEngine() override;
  WireEngine(const WireEngine&) = delete;
  WireEngine& operator=(const WireEngine&) = delete;

  std::string_view name() const override { return wire_->name(); }
  std::unique_ptr<Task> begin(Call call) override;
  std::unique_ptr<Task> begin(Message message) override;
  void check() override;
  [[noreturn]] void fail(const std::string& text) override;
  std::string absence_of(int rank) override;
  void give_up(const std::string& reason) override;
  // Waits for at most the timeout.
  void leave() override;
  Patience patience() const override { return wire_->patience(); }
  bool step_or_sleep(Task& task, std::chrono::milliseconds most) const override;
  bool is_polled() const override { return wire_->is_polled(); }

 private:
  friend class WireTask;
  friend class WireMessageTask;
  // A call that has begun.
  struct Begun {
    uint64_t number = 0, history = 0;
    Call call;  // without its buffers
  };
  struct MessageInProgress {
    uint64_t id = 0;
    Message message;  // without its buffer
  };
  using Messages = std::list<MessageInProgress>;
  using MessageKind = std::tuple<bool, int, int>;  // is_sent, peer, tag

  Begun record(const Call& call);
  // Messages in progress, also those that were sent from a copy.
  Messages::iterator add(const Message& message);
  // For one that is over: `peer` is the other rank.
  void remove(Messages::iterator message, int peer);
  // For a message that no call waits for: removes it when the transfer is over.
  void keep_sending(std::unique_ptr<WireTransfer> transfer, Messages::iterator message);
  // True if no such message is left.
  bool has_sent_all();
  // Returns when none is left, the group has failed, or the time is over.
  void wait_for_receivers(bool is_interruptible);

  // Compares what ranks have called, unless another thread does, or has done so a moment ago.
  void compare_with_others();
  // Those of all ranks, if the store answers; else none.
  std::vector<Notice> exchange_notices();
  Notice own_notice();
  void end_with(const std::string& text);

  const std::unique_ptr<Wire> wire_;
  const std::shared_ptr<const Doorbell> bell_;
  const std::shared_ptr<Store> store_;  // with a short timeout
  const int rank_, size_;
  const Duration timeout_;
  const pid_t process_;
  std::atomic<bool> has_failed_ = false, has_left_ = false;
  std::mutex mutex_;  // guards the members below
  std::string failure_;
  uint64_t calls_ = 0, history_ = 0;
  std::deque<Begun> recent_;
  uint64_t message_count_ = 0, notice_count_ = 0;
  Messages messages_;
  std::map<MessageKind, uint64_t> ended_;  // messages that are over
  std::vector<std::pair<std::unique_ptr<WireTransfer>, Messages::iterator>> sending_;
  // By rank: from it nothing comes in their slot, so that they fail when it has ended.
  std::vector<std::unique_ptr<WireTransfer>> watches_;
  std::mutex comparing_;  // guards the members below
  std::chrono::steady_clock::time_point compared_ = {};
  std::vector<Notice> seen_;  // when ranks were compared last, by rank
};

}  // namespace plait::dist
