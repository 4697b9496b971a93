// Messages between the processes of an MPI job, matched by an address of 128 bits where MPI has
// tags of 31: by an envelope that goes before them. A short message is in its envelope (eager); a
// long one follows when a receive matches it, under a tag that its envelope names. For sources that
// have mpi.h.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/comm/inside/wires/mpi_library.h"

namespace plait::dist {

struct MpiAddress {
  uint64_t group = 0, slot = 0;
  friend auto operator<=>(const MpiAddress&, const MpiAddress&) = default;
};

inline constexpr int kAnyProcess = -1;
inline constexpr size_t kEagerBytes = 3900;  // with its envelope a message that MPI does not divide

struct MpiEnvelope {
  enum class Kind : uint32_t { eager, follows, answer };
  MpiAddress address;
  uint64_t size = 0;  // bytes of the message
  uint32_t id = 0;    // another one for each message of the sender
  Kind kind = Kind::eager;
  bool wants_answer = false;  // an eager one, when it is received
};

class MpiMatching {
 public:
  static MpiMatching& of_process();

  // A message in progress. Its bytes are kept until it is over.
  struct Message {
    bool is_sent = false;
    MpiAddress address;
    int process = kAnyProcess;  // the other side
    std::span<std::byte> out = {};
    std::shared_ptr<const void> keeps = {};
    MPI_Request request = nullptr;  // moves the bytes that follow
    uint32_t id = 0;
    bool is_begun = false;  // a receive: it is matched; a send: nothing is left but its bytes
    bool is_over = false;
    std::string failure = {};
  };
  using Receive = std::shared_ptr<Message>;

  // One that `is_acknowledged` is not over before it is matched.
  std::shared_ptr<Message> send(int process, const MpiAddress& address,
                                std::span<const std::byte> bytes, std::shared_ptr<const void> keeps,
                                bool is_acknowledged);
  Receive receive(int process, const MpiAddress& address, std::span<std::byte> bytes,
                  std::shared_ptr<const void> keeps);
  // Goes on with all messages. DistError if MPI has ended, or fails.
  bool is_over(Message& message);
  // For one that is not over and not waited for any more. In a forked process nothing.
  void abandon(const std::shared_ptr<Message>& message);
  // Drops what has come for a group and was not received. In a forked process nothing.
  void forget(uint64_t group);

  // Before MPI_Finalize: lets MPI take what is being sent, for at most this time. Later calls are a
  // DistError.
  void end(std::chrono::milliseconds most);

 private:
  using Buffer = std::array<std::byte, sizeof(MpiEnvelope) + kEagerBytes>;
  // A message that came before its receive.
  struct Unexpected {
    int process = 0;
    MpiEnvelope envelope;
    std::vector<std::byte> bytes;
  };
  struct Outgoing {
    MPI_Request request = nullptr;
    std::vector<std::byte> bytes;
  };

  MpiMatching();
  void expect_open() const;
  void post_envelope();
  void progress();
  void free_outgoing();
  void take(int process, const MpiEnvelope& envelope, std::span<const std::byte> bytes);
  void match(Message& receive, int process, const MpiEnvelope& envelope,
             std::span<const std::byte> bytes);
  void send_envelope(int process, const MpiEnvelope& envelope, std::span<const std::byte> bytes);

  const MpiLibrary& mpi_;
  const uint64_t forks_;
  std::mutex mutex_;  // guards the members below, and all calls of MPI
  bool has_ended_ = false;
  Buffer incoming_;
  MPI_Request envelope_ = nullptr;  // the next one that comes
  uint32_t next_id_ = 0;
  std::list<Outgoing> outgoing_;
  std::map<MpiAddress, std::deque<Receive>> posted_;
  std::map<MpiAddress, std::deque<Unexpected>> unexpected_;
  std::map<uint32_t, std::weak_ptr<Message>> unanswered_;
};

}  // namespace plait::dist
