// The calls of a group, which run one after another in the order in which they are made: on the
// thread that waits for them if none is in progress, else on the courier.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/engine.h"
#include "plait/comm/work.h"

namespace plait::dist {

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  // `group` names it, and the rank there. Errors begin with `numbering`, which says what the
  // numbers of its ranks mean.
  Lane(std::unique_ptr<Engine> engine, std::string group, std::string numbering = {})
      : engine_(std::move(engine)),
        group_(std::make_shared<const std::string>(std::move(group))),
        numbering_(std::move(numbering)) {}

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
    uint64_t entry = 0;               // in the log
    std::unique_ptr<Task> task = {};  // once it has begun
  };

  // False if a call is in progress, or waits.
  bool begin_driving();
  bool end_driving();  // true if calls wait
  // DistError on the thread that goes on with the first call.
  void expect_other_driver(const Call& call);
  template <class Run>
  auto with_numbering(const Run& run);
  // Begins the task, and goes on with it until it is over.
  template <class Operation>
  void run_here(Operation operation, Duration timeout);
  void drive(Task& task, Duration timeout);
  static void end(Queued& queued, std::exception_ptr failure);
  // Fails the group if a call has waited for its turn for too long.
  void check_queue();
  // Calls `go`, which returns true when the work has ended. So does this, also if it has failed.
  template <class Go>
  bool go_on(Queued& queued, const Go& go, std::exception_ptr& failure);
  // Goes on with the first call that waits, on the courier. True if it has ended.
  template <class Go>
  bool with_first(const Go& go);
  // The same with all messages.
  template <class Go>
  bool with_messages(const Go& go);

  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<const std::string> group_;
  const std::string numbering_;
  std::mutex mutex_;  // guards the members below
  std::deque<Queued> queue_;
  std::list<Queued> messages_;  // only the courier removes some
  bool is_driven_ = false;      // a thread goes on with the first call
  std::thread::id driver_;      // which one, unless it is the courier
};

}  // namespace plait::dist
