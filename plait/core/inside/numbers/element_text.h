// Converts one element to text and back without loss.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "plait/core/numbers/dtype.h"
#include "plait/core/text.h"

namespace plait {

// Numbers with the fewest characters that parse to the same value; nan, inf, -inf, -0; a NaN with
// non-default bits as nan:0x7fc00001; complex as (1+2j); true and false; a key as 0x and 32 digits.
void append_element_text(std::string& text, DType dtype, const std::byte* element);

// Parses what append_element_text writes into `element`. ParseError also for a number outside the
// range of the dtype. (Numbers of f16, bf16 and the f8 formats are parsed as f64, then rounded.)
void read_element(TextReader& reader, DType dtype, std::byte* element);

// The same for an f64.
void append_real(std::string& text, double value);
double read_real(TextReader& reader);

// Bytes in memory order, two digits each, without a prefix.
void append_hex(std::string& text, std::span<const std::byte> bytes);
void read_hex(TextReader& reader, std::span<std::byte> bytes);
// The number of hexadecimal digits that follow.
size_t count_hex_digits(const TextReader& reader);

}  // namespace plait
