// The calls of a group, which run one after another in the order in which they are made: on the
// thread that waits for them if none is in progress, else on the courier.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/engine.h"
#include "plait/comm/work.h"

namespace plait::dist {

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  explicit Lane(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}

  Engine& engine() const { return *engine_; }
  // Returns when the call is over.
  void run(Call call, Duration timeout);
  // Returns as soon as its place among the calls is certain.
  void start(Call call, Duration timeout, std::shared_ptr<Work> work);
  // The same for messages, which go on beside the calls.
  void run(Message message, Duration timeout);
  void start(Message message, Duration timeout, std::shared_ptr<Work> work);

  // For the courier. Goes on with the messages, and the first call that waits; true if one has
  // ended.
  bool advance();
  // Ends calls that are late, or wait for ranks that have ended.
  void check();
  bool has_work();

 private:
  struct Queued {
    Call call;
    Deadline deadline;
    Duration timeout;
    std::shared_ptr<Work> work;
    std::unique_ptr<Task> task = {};  // once it has begun
  };

  // False if a call is in progress, or waits.
  bool begin_driving();
  bool end_driving();  // true if calls wait
  void drive(Task& task, Duration timeout);
  // Calls `go`, which returns true when the work has ended. So does this, also if it has failed.
  template <class Go>
  static bool go_on(Queued& queued, const Go& go, std::exception_ptr& failure);
  // Goes on with the first call that waits, on the courier. True if it has ended.
  template <class Go>
  bool with_first(const Go& go);
  // The same with all messages.
  template <class Go>
  bool with_messages(const Go& go);

  std::unique_ptr<Engine> engine_;
  std::mutex mutex_;  // guards the members below
  std::deque<Queued> queue_;
  std::list<Queued> messages_;  // only the courier removes some
  bool is_driven_ = false;      // a thread goes on with the first call
};

}  // namespace plait::dist
