// A message in progress on one rank of a WireEngine.
#pragma once

#include <memory>
#include <optional>

#include "plait/comm/inside/wires/wire_engine.h"

namespace plait::dist {

class WireMessageTask : public Task {
 public:
  WireMessageTask(WireEngine& engine, Message message);
  ~WireMessageTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  void send();
  void receive();

  WireEngine& engine_;
  Message message_;
  std::optional<WireEngine::Messages::iterator> entry_;  // none: the engine keeps sending it
  std::unique_ptr<WireTransfer> transfer_;               // none: it is over
};

}  // namespace plait::dist
