// Python's lock (the GIL), released and taken by C++. Python kills daemon threads that take it
// after the interpreter has begun to end, by unwinding them, and C++ code that may not throw would
// abort the process. So from the end on such threads sleep instead of taking it.
#pragma once

#include <nanobind/nanobind.h>

namespace plait::python {

namespace nb = nanobind;

// True if another thread ends the interpreter: this one will not get the lock any more.
bool is_ended_elsewhere();

// While one exists, this thread does not hold the lock.
class UnlockedPython {
 public:
  UnlockedPython() : state_(PyEval_SaveThread()) {}
  ~UnlockedPython();
  UnlockedPython(const UnlockedPython&) = delete;
  UnlockedPython& operator=(const UnlockedPython&) = delete;

 private:
  PyThreadState* const state_;
};

// While one exists, this thread holds the lock, whether it did before or not.
class LockedPython {
 public:
  LockedPython();
  ~LockedPython() { PyGILState_Release(state_); }
  LockedPython(const LockedPython&) = delete;
  LockedPython& operator=(const LockedPython&) = delete;

 private:
  PyGILState_STATE state_;
};

void bind_lock(nb::module_& module);

}  // namespace plait::python
