// From machine code back to source: what the debug information of this process says of an address.
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

// Whether this build can read debug information at all.
bool can_read_source_lines();

// The line that the instruction at `address` was compiled from. Where functions were inlined into
// each other, the innermost line outside Plait's own sources: what the user wrote. Reads only the
// debug information inside the loaded files themselves: no search for more, on disk or elsewhere.
std::optional<SourceLine> source_line_of(uintptr_t address);

// Whether the function that the address lies in is the user's, by its name: none in Plait's
// namespace or the standard library's. False where names are not known.
bool is_in_users_function(uintptr_t address);

// Whether a file is one of Plait's own or of the standard library: not where a user's program is.
bool is_inside(std::string_view file);

}  // namespace plait
