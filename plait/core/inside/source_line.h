// Maps machine addresses to source lines with the debug information of this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plait {

struct SourceLine {
  std::string file;
  int64_t line = 0;
};

// True if this build can read debug information at all.
bool can_read_source_lines();

// The source line of the instruction at `address`. If functions were inlined, the innermost line
// outside Plait's own sources: what the user wrote. Reads only the debug information in the loaded
// files; it does not search the disk or the network.
std::optional<SourceLine> source_line_of(uintptr_t address);

// "model.cpp:14" for the call that returns to this address; "program+0x1f3a" without debug
// information.
std::string text_of_return_address(uintptr_t address);

// True if the function at the address belongs to the user, by its name: not in Plait's namespace
// nor the standard library's. False if there are no names.
bool is_in_users_function(uintptr_t address);

// True for files of Plait and of the standard library.
bool is_inside(std::string_view file);

}  // namespace plait
