// A call in progress on one rank of an NcclEngine: the ranks compare it, then NCCL runs it.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "plait/comm/inside/nccl/nccl_engine.h"

namespace plait::dist {

class NcclTask : public Task {
 public:
  NcclTask(NcclEngine& engine, Call call);
  // Fails the group if the call is not over: the others wait for this rank.
  ~NcclTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  enum class Stage : uint8_t { agreement, counts, device, over };

  bool goes_on_host() const { return stage_ == Stage::agreement || stage_ == Stage::counts; }
  bool go_on();
  // The next stage after one on the host.
  void advance();
  // Counts of an all_to_all differ from rank to rank.
  std::unique_ptr<Task> exchange_counts();
  void compare_counts();

  NcclEngine& engine_;
  const Call call_;
  Stage stage_ = Stage::device;
  std::vector<int64_t> counts_;    // elements that each rank sends to this one
  std::unique_ptr<Task> control_;  // the last one of the other engine
  Absence absence_;
};

}  // namespace plait::dist
