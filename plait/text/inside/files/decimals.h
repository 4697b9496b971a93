// Decimal numbers of JSON, as the `tokenizers` library writes and reads them.
#pragma once

#include <string>

namespace plait::text {

// The shortest decimal that is read as this value, which is finite. It has no exponent if the value
// is 0, or from 1e-5 to below 1e16.
std::string decimal_text(double value);
// The shortest that is read as this f32.
std::string short_decimal_text(float value);

// The value that the library reads where a file says decimal_text(value). It rounds twice, so that
// the last digit may differ: and ids depend on that, where two ways to divide a word are equally
// likely.
double as_reference_reads(double value);

}  // namespace plait::text
