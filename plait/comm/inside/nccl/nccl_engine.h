// The engine of ranks that each have a GPU: NCCL moves their tensors.
//
// NCCL waits for ever where ranks call different things, or one has ended. So another engine, for
// ranks on the host, has the same calls and messages without their data: it compares them, and
// tells the ranks that one has failed. What NCCL has begun is aborted then.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "plait/comm/inside/engine.h"
#include "plait/comm/inside/nccl/nccl_channel.h"
#include "plait/comm/inside/nccl/nccl_connection.h"
#include "plait/comm/store.h"
#include "plait/core/error.h"

namespace plait::dist {

class NcclEngine final : public Engine {
 public:
  // Returns when all ranks are connected, which share the store. `control` has the same ranks.
  // DeviceError without NCCL, DistError if some do not connect within the timeout.
  NcclEngine(std::unique_ptr<Engine> control, Store& store, int rank, int size, Device device,
             Duration timeout);
  ~NcclEngine() override;
  NcclEngine(const NcclEngine&) = delete;
  NcclEngine& operator=(const NcclEngine&) = delete;

  std::string_view name() const override { return "nccl"; }
  Device device() const override { return device_; }
  std::unique_ptr<Task> begin(Call call) override;
  std::unique_ptr<Task> begin(Message message) override;
  void check() override;
  [[noreturn]] void fail(const std::string& text) override;
  std::string absence_of(int rank) override { return control_->absence_of(rank); }
  void give_up(const std::string& reason) override;
  void leave() override { control_->leave(); }
  Patience patience() const override { return control_->patience(); }
  bool step_or_sleep(Task& task, std::chrono::milliseconds most) const override;
  bool is_polled() const override { return true; }

 private:
  friend class NcclTask;
  friend class NcclMessageTask;

  void connect(const NcclId& id, Duration timeout);
  // That of messages from this rank to another one, or from it.
  NcclChannel& channel(bool is_sent, int peer);
  // Ends all that NCCL has begun on this rank.
  void abort() noexcept;
  // `use` of the other engine: if it fails, so does this one.
  template <class Use>
  auto with_control(const Use& use) {
    try {
      return use();
    } catch (const DistError&) {
      abort();
      throw;
    }
  }

  const std::unique_ptr<Engine> control_;
  const int rank_, size_;
  const Device device_;
  std::unique_ptr<NcclConnection> connection_;
  std::atomic<bool> is_aborted_ = false;
  std::mutex mutex_;  // guards the member below
  std::map<std::pair<bool, int>, std::unique_ptr<NcclChannel>> channels_;  // by is_sent and rank
};

// For a task that waits for the device: since when a rank that it needs is known to be gone. What
// that rank has done may still be on its way.
class Absence {
 public:
  // The text, if it was known for a while.
  std::string lasting(const std::string& now);

 private:
  std::optional<std::chrono::steady_clock::time_point> since_;
};

}  // namespace plait::dist
