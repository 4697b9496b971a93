// A call in progress on one rank of a WireEngine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/comm/inside/wires/wire_engine.h"
#include "plait/comm/inside/wires/wire_program.h"

namespace plait::dist {

class WireTask : public Task {
 public:
  WireTask(WireEngine& engine, Call call);
  // Fails the group if the call is not over: the others wait for its transfers.
  ~WireTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  // False if the step waits for a transfer.
  bool run(const WireStep& step);
  uint64_t slot_of(const WireStep& step) const;

  WireEngine& engine_;
  Call call_;
  WireEngine::Begun begun_;
  WireProgram program_;
  std::shared_ptr<const void> keeps_;  // owns the buffers of the call, and the scratch memory
  std::vector<std::unique_ptr<WireTransfer>> transfers_;
  size_t next_ = 0;  // the first step that has not run
};

}  // namespace plait::dist
