// Streams run as late as they may: work is queued, and runs when something waits for it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/cuda_emulator/abi/cuda.h"

namespace emulator {

struct Context;
struct Stream;
struct Capture;
struct GraphNode;

// A result that a call of the driver returns; thrown by what the call uses.
struct Failure {
  CUresult result;
};

// A position in a stream, reached when all work before it is done.
struct Marker {
  Stream* stream = nullptr;
  bool is_done = false;
  double milliseconds = 0;  // when
};

// Work of a stream. `run` is called with the lock of the driver, except for functions of the host.
struct Work {
  int kind = 0;                   // the CU_GRAPH_NODE_TYPE_… of its node in a graph
  std::function<CUresult()> run;  // may be empty
  // Goes on with what other threads or processes take part in; true when `run` may be called. May
  // be empty.
  std::function<bool()> is_ready = {};
  bool is_host_function = false;
  const void* identity = nullptr;  // the function of a kernel
  std::shared_ptr<Marker> done = std::make_shared<Marker>();
  std::vector<std::shared_ptr<Marker>> waits_for;
};

struct Stream {
  Context* context = nullptr;
  bool is_legacy = false;
  bool is_blocking = true;  // waits for the legacy stream, and that for it
  std::deque<Work> queue;
  bool is_busy = false;
  int polls = 0;                 // that were told of unfinished work
  std::shared_ptr<Marker> last;  // marks the work that was queued last; null: none yet

  std::shared_ptr<Capture> capture;  // null: not capturing
  std::vector<GraphNode*> frontier;  // dependencies of the next captured node
};

struct Event {
  Context* context = nullptr;
  bool has_timing = true;
  std::shared_ptr<Marker> marker;  // null: never recorded
  int polls = 0;                   // since it was recorded
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode*> frontier;
};

// Everything in the driver is guarded by this lock; compiling is not.
std::mutex& driver_mutex();
std::condition_variable& stream_progress();

// Runs work; the lock is free while a function of the host runs, since that may wait for other
// threads.
CUresult run_work(const Work& work);
// Appends work to a stream, or to the graph that it is captured into.
void enqueue(Stream& stream, Work work);
// As above, and waits for it.
void enqueue_and_wait(Stream& stream, Work work);
// False if it would wait for other threads or processes, and may not.
bool run_until(const std::shared_ptr<Marker>& marker, bool may_wait = true);
// Waits, without the lock, until other threads or processes may have done something.
void wait_for_others();
void drain(Stream& stream);
void drain(Context& context);
bool is_drained(const Stream& stream);

// True while this thread runs a function that cuLaunchHostFunc was given, which may not call the
// driver.
bool& is_in_host_function();

}  // namespace emulator
