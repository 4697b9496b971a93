// The exceptions of Plait: a message, the location in the user's code, and a hint how to fix it.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "plait/core/location.h"

namespace plait {

enum class ErrorKind {
  shape,    // sizes do not fit each other
  type,     // a dtype or a kind of value that the operation does not support
  value,    // an argument outside its range
  index,    // an index out of range
  key,      // an unknown name
  memory,   // not enough memory
  device,   // a device is missing or failed
  parse,    // malformed text or file
  io,       // the operating system refused
  dist,     // processes disagree, or one has ended
  compile,  // a program that breaks a rule of the IR, or cannot be compiled
  check,    // a check written by the user failed
};

// "ShapeError", as users and Python see it.
std::string_view name_of(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message);

  const char* what() const noexcept override { return what_.c_str(); }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }
  Location location() const { return location_; }
  // The context: "in @f, called by @g". Empty if unknown.
  const std::string& context() const { return context_; }

  void set_hint(std::string hint);
  void set_location(Location location);
  void set_context(std::string context);
  // Puts context before the message: "line 3: ".
  void prepend(std::string_view context);

 private:
  void compose();

  ErrorKind kind_;
  std::string message_, hint_, context_, what_;
  Location location_;
};

// One type for each kind, so that each can be caught by name:
//   throw ShapeError("matmul: inner sizes differ: {} · {}", a, b).at(where).hint("transpose one of
//   them");
template <ErrorKind kind_value>
class ErrorOf : public Error {
 public:
  template <class... Arguments>
  explicit ErrorOf(fmt::format_string<Arguments...> format, Arguments&&... arguments)
      : Error(kind_value, fmt::format(format, std::forward<Arguments>(arguments)...)) {}

  using Error::hint;

  ErrorOf&& at(Location location) && {
    set_location(location);
    return std::move(*this);
  }
  ErrorOf&& hint(std::string text) && {
    set_hint(std::move(text));
    return std::move(*this);
  }
};

using ShapeError = ErrorOf<ErrorKind::shape>;
using TypeError = ErrorOf<ErrorKind::type>;
using ValueError = ErrorOf<ErrorKind::value>;
using IndexError = ErrorOf<ErrorKind::index>;
using KeyError = ErrorOf<ErrorKind::key>;
using MemoryError = ErrorOf<ErrorKind::memory>;
using DeviceError = ErrorOf<ErrorKind::device>;
using ParseError = ErrorOf<ErrorKind::parse>;
using IoError = ErrorOf<ErrorKind::io>;
using DistError = ErrorOf<ErrorKind::dist>;
using CompileError = ErrorOf<ErrorKind::compile>;
using CheckError = ErrorOf<ErrorKind::check>;

}  // namespace plait
