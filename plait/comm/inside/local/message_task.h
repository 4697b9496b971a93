// A message in progress on one rank of a LocalEngine.
#pragma once

#include <memory>
#include <string>

#include "plait/comm/inside/local/local_engine.h"

namespace plait::dist {

class MessageTask : public Task {
 public:
  MessageTask(LocalEngine& engine, Message message);
  ~MessageTask() override;

  bool step() override;
  void check() override;
  [[noreturn]] void end_late(std::chrono::milliseconds timeout) override;
  void give_up(std::string_view reason) override;

 private:
  // True if no rank is left that could go on with it.
  bool is_deserted() const;
  std::string text() const;  // with this rank
  std::string state_of_peer() const;

  LocalEngine& engine_;
  std::shared_ptr<Transfer> transfer_;
  bool has_told_ = false;  // the other ranks that it waits
};

}  // namespace plait::dist
