// The transport of a group: what runs its calls.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "plait/comm/inside/calls/collective_call.h"
#include "plait/comm/inside/calls/message.h"
#include "plait/core/device.h"

namespace plait::dist {

// How a thread waits before it sleeps.
struct Patience {
  int steps = 1;        // that it tries
  bool yields = false;  // its core to others between them: there are not enough
};

// A call in progress.
class Task {
 public:
  virtual ~Task() = default;

  // Goes on as far as it can without waiting; true when it is over. Throws if the group has failed.
  virtual bool step() = 0;
  // To be called from time to time while a task does not go on: throws if it never will.
  virtual void check() = 0;
  // The time of the call is over: fails the group, with an error that names the ranks that are
  // late.
  [[noreturn]] virtual void end_late(std::chrono::milliseconds timeout) = 0;
  // Fails the group: this rank does not go on, for this reason.
  virtual void give_up(std::string_view reason) = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;
  // Where the buffers of this rank are.
  virtual Device device() const { return Device(); }
  // Calls are begun in the order in which the group makes them, one after the other has ended.
  virtual std::unique_ptr<Task> begin(Call call) = 0;
  // Messages are in no order with calls.
  virtual std::unique_ptr<Task> begin(Message message) = 0;
  // Throws the DistError of a group that has failed.
  virtual void check() = 0;
  // Fails the group with this text, unless it has failed; throws the text that it failed with.
  virtual void fail(const std::string& text) = 0;
  // That a rank has ended, or left the group, in words; empty if it is there, or the engine cannot
  // tell.
  virtual std::string absence_of(int rank) = 0;
  // Fails the group: this rank does not go on, for this reason.
  virtual void give_up(const std::string& reason) = 0;
  // Before the group is left: waits until messages that were sent are received.
  virtual void leave() {}
  // How a thread waits for a task: it tries some steps, and then goes on, or sleeps until something
  // has changed, or for this time. True when the task is over.
  virtual Patience patience() const = 0;
  virtual bool step_or_sleep(Task& task, std::chrono::milliseconds most) const = 0;
  // True if no doorbell rings when its tasks can go on.
  virtual bool is_polled() const { return false; }
};

}  // namespace plait::dist
