// A place in the user's source. Eight bytes; noting one costs nothing, reading one may be slow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

class Location {
 public:
  Location() = default;

  // A file and line, as written in a program's text or told by Python.
  static Location of(std::string_view file, int64_t line);
  // A return address in machine code, made readable (through debug information) only when asked.
  static Location of_address(const void* address);
  // Where the user's code called into Plait: the first place on the call stack, from here outwards,
  // that is neither Plait's own source nor the standard library's. Notes addresses now, reads debug
  // information only when asked.
  static Location of_caller();

  // The same, whatever LocationScope there is on this thread.
  static Location of_outermost_caller();

  bool known() const { return word_ != 0; }
  // The same place, for what a backward pass computes of what was computed there. It has the same
  // text.
  Location in_backward_pass() const { return Location(known() ? word_ | kBackwardPass : 0); }
  bool is_in_backward_pass() const { return (word_ & kBackwardPass) != 0; }
  // "model.cpp:14"; "" when unknown; "program+0x1f3a" when there is no debug information.
  std::string text() const;

  friend bool operator==(Location, Location) = default;

 private:
  static constexpr uint64_t kBackwardPass = uint64_t{1} << 63;  // no address is so large

  explicit Location(uint64_t word) : word_(word) {}
  // 0: unknown; low bit 0: an address << 1; low bits 01: the index of an interned file and line
  // << 2; 11: that of an interned call stack. The highest bit: in a backward pass.
  uint64_t word_ = 0;
};

// While one is there, what its thread does is done for that place of the user's: what a transform
// records stands for an instruction of the program that it transforms, and no call stack need be
// walked. Nothing where the place is not known.
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
