// The engine of ranks on one host, processes or threads, through shared memory.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plait/comm/inside/engine.h"
#include "plait/comm/inside/local/arena.h"
#include "plait/comm/inside/local/doorbell.h"
#include "plait/comm/inside/local/message_rings.h"
#include "plait/comm/inside/local/rounds.h"
#include "plait/comm/store.h"

namespace plait::dist {

class LocalEngine final : public Engine {
 public:
  // Returns when all ranks have joined, which share the store. DistError if some do not within the
  // timeout, or are on other hosts.
  LocalEngine(Store& store, int rank, int size, Duration timeout);
  ~LocalEngine() override;
  LocalEngine(const LocalEngine&) = delete;
  LocalEngine& operator=(const LocalEngine&) = delete;

  std::string_view name() const override { return "local"; }
  std::unique_ptr<Task> begin(Call call) override;
  std::unique_ptr<Task> begin(Message message) override;
  void check() override;
  [[noreturn]] void fail(const std::string& text) override;
  std::string absence_of(int rank) override;
  void give_up(const std::string& reason) override;
  Patience patience() const override { return patience_; }
  bool step_or_sleep(Task& task, std::chrono::milliseconds most) const override;

 private:
  friend class LocalTask;
  friend class MessageTask;
  struct Peer {
    std::shared_ptr<const Doorbell> bell;
    Descriptor process;         // readable when it has ended; closed if it is this one
    uint64_t rounds_known = 0;  // that it has done with, at least
  };

  void join_peers(Duration timeout);
  const std::string& place_text(Location where);
  // Writes what this rank calls, so that the others can compare it.
  void record(Location where, const CallSummary& summary);
  void ring() const;
  bool has_ended(int rank) const;
  // The first call, among recent ones, at which a rank and this one differ.
  uint64_t first_difference(int rank, uint64_t latest) const;
  std::string described(int rank, uint64_t call) const;  // "rank 1 called barrier at train.py:3"
  std::string last_call_of(int rank) const;              // and the message that it waits for
  // Tells the others that a thread of this rank waits for a message; that it does so no more.
  void begin_wait(std::string_view message);
  void end_wait();

  int rank_, size_;
  Arena arena_;
  std::shared_ptr<const Doorbell> bell_;
  std::vector<Peer> peers_;  // by rank
  Patience patience_;
  MessageRings messages_;
  std::vector<std::pair<Location, std::string>> places_;  // texts of recent locations
  std::mutex waiting_;                                    // held to begin a wait
  // The same on all ranks between two calls.
  uint64_t calls_ = 0, history_ = 0, writes_ = 0, rounds_ = 0;
};

}  // namespace plait::dist
