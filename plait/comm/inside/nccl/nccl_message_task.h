// A message in progress on one rank of an NcclEngine: the two ranks compare it, then NCCL moves it.
#pragma once

#include <memory>
#include <string_view>

#include "plait/comm/inside/nccl/nccl_engine.h"

namespace plait::dist {

class NcclMessageTask : public Task {
 public:
  NcclMessageTask(NcclEngine& engine, Message message);
  ~NcclMessageTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  NcclEngine& engine_;
  const Message message_;
  NcclChannel& channel_;
  const uint64_t place_;
  std::unique_ptr<Task> control_;  // that of the other engine; null if nothing is compared
  bool is_compared_ = false, is_over_ = false;
  Absence absence_;
};

}  // namespace plait::dist
