// Source locations in the comments of a program's text.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/core/location.h"

namespace plait::ir {

// "model.cpp:14", "\"my model.cpp\":14", or "program+0x1f3a" without debug information. Any other
// text is not a location.
void print_location(std::string& out, Location location);
Location parse_location(std::string_view text);

// Caches the locations of one text: most lines occur many times.
class LocationsRead {
 public:
  // The text must outlive this.
  Location parse(std::string_view text) {
    const auto [place, is_new] = locations_.try_emplace(text);
    if (is_new) place->second = parse_location(text);
    return place->second;
  }

 private:
  std::unordered_map<std::string_view, Location> locations_;
};

}  // namespace plait::ir
