// A place in the user's source code, in eight bytes. Recording one is cheap; reading its text may
// be slow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

class Location {
 public:
  Location() = default;

  // A file and line, from a program's text or from Python.
  static Location of(std::string_view file, int64_t line);
  // The place where the user's code called Plait: the innermost frame of the call stack outside of
  // Plait's sources and the standard library. Records addresses only; debug information is read on
  // demand.
  static Location of_caller();

  // The same, ignoring any LocationScope.
  static Location of_outermost_caller();

  bool known() const { return word_ != 0; }
  // The same place, for the backward pass of what was computed there. Its text is the same.
  Location in_backward_pass() const { return Location(known() ? word_ | kBackwardPass : 0); }
  bool is_in_backward_pass() const { return (word_ & kBackwardPass) != 0; }
  // "model.cpp:14"; "" if unknown; "program+0x1f3a" without debug information.
  std::string text() const;

  friend bool operator==(Location, Location) = default;

 private:
  static constexpr uint64_t kBackwardPass = uint64_t{1} << 63;

  explicit Location(uint64_t word) : word_(word) {}
  // 0: unknown; low bits 01: the index of an interned file and line << 2; 11: that of an interned
  // call stack. Highest bit: in a backward pass.
  uint64_t word_ = 0;
};

// While one exists, operations of its thread get this location, without a walk of the call stack: a
// transform records instructions that represent an instruction of the program that it transforms.
// No effect if the location is unknown.
class LocationScope {
 public:
  explicit LocationScope(Location location);
  ~LocationScope();
  LocationScope(const LocationScope&) = delete;
  LocationScope& operator=(const LocationScope&) = delete;

 private:
  Location outer_;
};

}  // namespace plait
