// A call in progress on one rank of a LocalEngine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/comm/inside/local/local_engine.h"

namespace plait::dist {

class LocalTask : public Task {
 public:
  LocalTask(LocalEngine& engine, Call call);
  // Fails the group if the call is not over: its rounds would be read as those of the next one.
  ~LocalTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  enum class Stage : uint8_t { free_slot, arrivals, agreement, over };

  // True if all ranks have done with the last round that used the slot.
  bool is_slot_free();
  void write();
  // True if the ranks have written that this step waits for.
  bool have_arrived();
  bool has_arrived(int rank);
  void read();
  void end_round();
  // True if all ranks have begun the call: for one that waits for nothing of some of them.
  bool have_all_agreed();

  std::byte* slot_of(int rank) const;
  // Fails the group if a rank has called something else, now or before.
  void compare_with(int rank);

  LocalEngine& engine_;
  Call call_;
  CallSummary summary_;
  uint64_t history_;
  uint64_t number_;  // calls before it
  std::unique_ptr<Rounds> rounds_;
  bool is_short_;
  bool waits_for_all_ = false;
  Stage stage_ = Stage::free_slot;
  int64_t round_ = 0;
  int step_ = 0;
  int next_ = 0;     // the first rank that was not seen to arrive
  int blocker_ = 0;  // the rank that this one waits for
  std::vector<std::byte*> slots_;
};

}  // namespace plait::dist
