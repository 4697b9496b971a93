// Messages from one rank to another, one after the other. Each direction has a connection of its
// own: on one stream, two ranks could each wait for what the other has queued behind.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "plait/comm/inside/engine.h"
#include "plait/comm/inside/nccl/nccl_connection.h"

namespace plait::dist {

class NcclChannel {
 public:
  // `control` passes what the two ranks need to connect.
  NcclChannel(Engine& control, int device, bool is_sender, int peer)
      : control_(control), device_(device), is_sender_(is_sender), peer_(peer) {}

  // The place of a new message among all of them.
  uint64_t add();
  // Goes on with the message at a place without waiting; true when it is over.
  bool step(uint64_t place, const Message& message);

  void abort() noexcept;
  void leave(std::chrono::milliseconds most) noexcept;

 private:
  bool connect();

  Engine& control_;
  const int device_;
  const bool is_sender_;
  const int peer_;
  std::mutex mutex_;  // guards the members below
  uint64_t added_ = 0, ended_ = 0;
  bool is_aborted_ = false;
  std::shared_ptr<NcclId> id_;
  std::unique_ptr<Task> passing_;  // the id to the other rank, or from it
  std::unique_ptr<NcclConnection> connection_;
};

}  // namespace plait::dist
