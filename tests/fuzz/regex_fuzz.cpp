// Any pattern either is compiled or gives an error; its matches in any text are in order, or it
// takes too long, which is an error, too. The pattern is the first line, the text is the rest.
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/regex.h"

namespace {

void match(std::string_view pattern, std::string_view text) {
  const plait::text::Regex regex(pattern);
  uint32_t end = 0;
  regex.for_each_match(text, [&](plait::text::Span found) {
    const bool is_in_order = found.begin >= end && found.begin <= found.end;
    if (!is_in_order || found.end > text.size()) throw std::logic_error("matches are out of order");
    end = found.end;
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view all = plait::characters_of(std::as_bytes(std::span(data, size)));
  const size_t line = std::min(all.find('\n'), all.size());
  std::string_view text = all.substr(std::min(line + 1, all.size()));
  text = text.substr(0, plait::valid_utf8_bytes(text));
  try {
    match(all.substr(0, line), text);
  } catch (const plait::Error&) {
  }
  return 0;
}
