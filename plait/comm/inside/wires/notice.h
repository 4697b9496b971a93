// Notices that a rank gives the others through the store when its calls do not go on, so that they
// can say why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plait::dist {

struct Notice {
  struct Call {
    uint64_t number = 0;   // calls of the group before it
    uint64_t history = 0;  // a hash of all calls up to it
    std::string text;      // "all_reduce(sum) of f32[4] at train.py:12"
    std::vector<int64_t> send_counts = {}, receive_counts = {};  // in an all_to_all
  };
  struct Message {
    uint64_t id = 0;      // another one for each message of the rank
    bool is_sent = true;  // else it is received
    int32_t peer = 0;
    int32_t tag = 0;
    std::string type;   // "f32[4]"
    std::string place;  // "train.py:12"
    // Earlier ones of the rank with this peer and tag that are over. One that was sent may still be
    // on its way.
    uint64_t ended = 0;
  };

  uint64_t version = 0;                // grows with each notice of a rank
  std::vector<Call> calls = {};        // the last ones
  std::vector<Message> messages = {};  // in progress
  bool has_left = false;               // the group
};

std::string bytes_of(const Notice& notice);
// No bytes are an empty one; ParseError if they are not those of a notice.
Notice read_notice(std::string_view bytes);

// "rank 1 called barrier at train.py:3 last, and waits in recv of f32[4] from rank 0 at
// train.py:9", as far as its notice tells.
std::string state_of(int rank, const Notice& notice);

// Why the calls of two ranks do not meet; empty if their notices do not tell. By rank: those that
// were read before, and now. Calls that were made stay made, but a message that is not in both
// notices may be over.
std::string difference_between(int rank, int other, const std::vector<Notice>& before,
                               const std::vector<Notice>& now);

}  // namespace plait::dist
