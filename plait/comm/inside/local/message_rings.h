// Messages between the ranks of a LocalEngine: a ring of bytes for each pair of them, through which
// messages of any size flow in order. Those that no call waits for stay in the ring, until a call
// waits for one behind them.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "plait/comm/inside/calls/message.h"
#include "plait/comm/inside/local/arena.h"

namespace plait::dist {

// Before each message in the ring; then the sender's line, and the elements, each padded to 8
// bytes.
struct MessageHead {
  int64_t count = 0;
  int32_t tag = 0;
  uint32_t dtype = 0;
  uint32_t place_size = 0;
  uint32_t moves_nothing = 0;  // no elements follow
};

// A message that is sent or received.
struct Transfer {
  Message message;
  std::string prefix = {};  // head and line of one that is sent
  uint64_t moved = 0;       // bytes, with those of the prefix
  std::atomic<bool> is_over = false;
};

class MessageRings {
 public:
  // `ring_peer` wakes a rank.
  MessageRings(const Arena& arena, int rank, std::function<void(int rank)> ring_peer);

  // Takes its place among those of the same kind.
  std::shared_ptr<Transfer> add(Message message, const std::string& place);
  // For one that does not go on, when the group has failed: nothing moves any more.
  void abandon(const std::shared_ptr<Transfer>& transfer);
  // Moves bytes as far as the rings allow. DistError if a message is not of the type that its
  // receiver expects.
  void move();
  // "rank 1 has sent f32[4] with tag 3 at train.py:12, which no call receives", of the first such
  // message; empty if there is none.
  std::string unclaimed(int rank);

 private:
  // A message that arrives, or has arrived before a call waits for it.
  struct Arriving {
    MessageHead head;
    std::string place;
    std::shared_ptr<Transfer> receiver = {};  // none: it is stored
    std::string stored = {};
    uint64_t moved = 0;  // bytes of elements
    uint64_t size() const;
  };

  void send_to(int rank);
  void receive_from(int rank);
  // Reads the head of the next message, if it is there and some call may want it.
  bool begin_arriving(int rank);
  void end_arriving(int rank);
  // The first call that waits for such a message.
  std::shared_ptr<Transfer> receiver_of(int rank, const MessageHead& head) const;
  bool is_awaited(int rank) const;
  // Gives a new call the first message that is stored for it.
  bool take_stored(const std::shared_ptr<Transfer>& transfer);
  void accept(int rank, const Arriving& arriving, const std::shared_ptr<Transfer>& transfer) const;

  Arena arena_;
  int rank_;
  std::function<void(int rank)> ring_peer_;
  std::mutex mutex_;                                          // guards the members below
  std::vector<std::deque<std::shared_ptr<Transfer>>> sends_;  // by rank
  std::list<std::shared_ptr<Transfer>> receives_;             // that no message has been found for
  std::vector<std::optional<Arriving>> arriving_;             // by rank
  std::vector<std::list<Arriving>> stored_;                   // by rank
  bool is_abandoned_ = false;
};

}  // namespace plait::dist
