// Numbers in the cells of CSV files.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace plait {

// Decimal numbers with an optional sign, between blanks; nothing for other text, or for an integer
// outside of i64. Floats may be written as inf, infinity and nan, in any case.
std::optional<int64_t> csv_integer(std::string_view cell);
std::optional<double> csv_float(std::string_view cell);

// True if the cell is digits with an optional sign, of any size.
bool has_integer_form(std::string_view cell);

}  // namespace plait
