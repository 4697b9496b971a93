// Checks and texts of the entries of logs.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plait/io/logs/run_log.h"

namespace plait {

// ValueErrors as log.h says.
void expect_step(int64_t step);
void expect_text(std::string_view what, std::string_view text);  // UTF-8
void expect_entries(std::span<const LogEntry> entries);
void expect_no_step(std::span<const LogEntry> entries);  // that the log writes itself

// The shortest decimal number that is read as this one, with a point or an exponent; "nan", "inf".
std::string number_text(double value);

}  // namespace plait
