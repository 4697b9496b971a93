#include "python/bindings/python_lock.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <pthread.h>

namespace plait::python {
namespace {

std::atomic<bool> has_ended = false;
std::atomic<int> taking = 0;  // threads that wait for the lock here
std::thread::id ending_thread;

// Announces that this thread takes the lock; never returns once another thread has ended the
// interpreter.
void begin_taking() {
  ++taking;
  if (!is_ended_elsewhere()) return;
  --taking;
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Runs when the interpreter begins to end, before Python kills threads: those that wait for the
// lock get it now, and none waits for it afterwards.
void end() {
  ending_thread = std::this_thread::get_id();
  has_ended = true;
  PyThreadState* const state = PyEval_SaveThread();
  while (taking > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
  PyEval_RestoreThread(state);
}

}  // namespace

bool is_ended_elsewhere() { return has_ended && std::this_thread::get_id() != ending_thread; }

UnlockedPython::~UnlockedPython() {
  begin_taking();
  PyEval_RestoreThread(state_);
  --taking;
}

LockedPython::LockedPython() {
  const bool waits = PyGILState_Check() == 0;
  if (waits) begin_taking();
  state_ = PyGILState_Ensure();
  if (waits) --taking;
}

void bind_lock(nb::module_& module) {
  pthread_atfork(nullptr, nullptr, [] { taking = 0; });  // a fork does not have these threads
  module.def("_end", &end);
  nb::module_::import_("atexit").attr("register")(module.attr("_end"));
}

}  // namespace plait::python
