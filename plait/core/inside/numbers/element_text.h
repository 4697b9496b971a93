// One element as text, and back, bit for bit.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/core/text.h"

namespace plait {

// Numbers in the fewest characters that read back; nan, inf, -inf, -0; a NaN with other bits than
// the default one as nan:0x7fc00001; complex as (1+2j); true and false; a key as 0x and 32 digits.
void append_element_text(std::string& text, DType dtype, const std::byte* element);

// Reads what append_element_text writes into `element`. ParseError also for a number that the dtype
// cannot hold. (Numbers of f16, bf16 and the f8 formats are read as f64, then rounded.)
void read_element(TextReader& reader, DType dtype, std::byte* element);

// The same for an f64.
void append_real(std::string& text, double value);
double read_real(TextReader& reader);

// Bytes in memory order, two digits each, without a prefix.
void append_hex(std::string& text, std::span<const std::byte> bytes);
void read_hex(TextReader& reader, std::span<std::byte> bytes);
// How many hexadecimal digits are next.
size_t count_hex_digits(const TextReader& reader);

}  // namespace plait
