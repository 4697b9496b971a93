// Converts plait::Error to the exceptions of python/plait/errors.py, passes C++ exceptions that
// unwind a recording through Python, and finds the current Python line for locations.
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/caller_source.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/inside/forms/calls/open_recursion.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

// The folder of the package, with a trailing slash.
std::string& package_folder() {
  static std::string folder;
  return folder;
}

// True for NumPy's own code, which calls methods of tensors.
bool is_of_numpy(std::string_view file) {
  return file.find("-packages/numpy/") != std::string_view::npos;
}

// The innermost Python line outside of the package and of NumPy.
Location location_in_python() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  Location found;
  while (frame != nullptr) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const char* file = PyUnicode_AsUTF8(code->co_filename);
    if (file == nullptr) {
      PyErr_Clear();
    } else if (!is_own_file(file) && !is_of_numpy(file)) {
      found = Location::of(file, PyFrame_GetLineNumber(frame));
    }
    Py_DECREF(code);
    PyFrameObject* outer = found.known() ? nullptr : PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = outer;
  }
  return found;
}

nb::object class_of(ErrorKind kind) {
  return nb::module_::import_("plait.errors").attr(std::string(name_of(kind)).c_str());
}

// Accepts any bytes: the message is shown in any case.
nb::object text_from(const std::string& bytes) {
  const auto size = static_cast<Py_ssize_t>(bytes.size());
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), size, "backslashreplace"));
}

// Adds the Python line if the error has no location.
void raise(Error error) {
  if (!error.location().known()) error.set_location(location_in_python());
  error.set_hint(hint_in_python(error.hint()));
  const nb::object type = class_of(error.kind());
  nb::object exception = type(text_from(error.what()));
  exception.attr("message") = text_from(error.message());
  exception.attr("hint") = text_from(error.hint());
  exception.attr("location") = text_from(error.location().text());
  exception.attr("context") = text_from(error.context());
  PyErr_SetObject(type.ptr(), exception.ptr());
}

// A Python exception that passes through C++.
struct RaisedError : Error {
  RaisedError(ErrorKind kind, std::string message, const nb::python_error& given)
      : Error(kind, std::move(message)), raised(given) {}
  nb::python_error raised;
};

// A C++ exception that passes through Python, to be rethrown behind it.
thread_local std::exception_ptr passing;

PyObject* passing_type() {
  static PyObject* const type =
      PyErr_NewException("plait._core._Passing", PyExc_BaseException, nullptr);
  return type;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Unwinding&) {
    passing = thrown;
    PyErr_SetString(passing_type(), "a recording begins again");
  } catch (const RaisedError& error) {
    nb::python_error(error.raised).restore();
  } catch (const Error& error) {
    try {
      raise(error);
    } catch (nb::python_error& failed) {
      failed.restore();
    }
  }
}

bool may_wait_for_python() {
  return Py_IsInitialized() != 0 && PyGILState_GetThisThreadState() != nullptr &&
         !is_ended_elsewhere();
}

// Threads unknown to Python have no Python line, and must not wait for its lock.
Location python_caller() {
  if (!may_wait_for_python()) return {};
  const LockedPython locked;
  try {
    return location_in_python();
  } catch (...) {
    return {};
  }
}

// Handles Ctrl-C and other signals, which Python processes on its first thread. If Python's lock is
// held (while a program is recorded), it is released for a moment, so that other threads can run.
// The pause is long enough for them to wake up; a shorter release would never let them acquire the
// lock.
void check_signals() {
  if (!may_wait_for_python()) return;
  if (PyGILState_Check() != 0) {
    const UnlockedPython unlocked;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  const LockedPython locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

bool is_own_file(const char* file) {
  return !package_folder().empty() && std::string_view(file).starts_with(package_folder());
}

void set_python_error() {
  const std::exception_ptr thrown = std::current_exception();
  try {
    std::rethrow_exception(thrown);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Unwinding&) {
    translate(thrown, nullptr);
  } catch (const Error&) {
    translate(thrown, nullptr);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void rethrow_passing(const nb::python_error& error) {
  if (!error.matches(passing_type())) return;
  std::rethrow_exception(std::exchange(passing, nullptr));
}

void rethrow_error(const nb::python_error& error) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::check); ++i) {
    const auto kind = static_cast<ErrorKind>(i);
    if (!error.matches(class_of(kind))) continue;
    const auto message = nb::cast<std::string>(error.value().attr("message"));
    throw RaisedError(kind, message.empty() ? utf8_of(error.value()) : message, error);
  }
}

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

void bind_locations(nb::module_& module) {
  set_caller_source(python_caller);
  set_interruption_check(check_signals);
  module.def("_set_package_folder", [](const char* folder) { package_folder() = folder; });
}

}  // namespace plait::python
