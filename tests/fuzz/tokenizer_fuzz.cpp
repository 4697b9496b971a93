// Any text either is a tokenizer.json or gives an error. What is read is written and read again as
// the same tokenizer, encodes any text, and decodes it in whole characters, in a stream, too.
// A line of three dashes separates the file and the text.
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/tokenizer.h"

namespace {

using plait::text::Tokenizer;

void expect(bool condition, const char* message) {
  if (!condition) throw std::logic_error(message);
}

void encode(const Tokenizer& tokenizer, std::string_view text) {
  const auto encoding = tokenizer.encode(text, {.byte_offsets = true, .key = plait::KeyBits{}});
  for (size_t i = 0; i < encoding.size(); ++i) {
    const auto [begin, end] = encoding.offsets[i];
    expect(begin <= end, "a token ends before it begins");
    encoding.token(i);
  }
  const std::string decoded = tokenizer.decode(encoding.ids, false);
  auto stream = tokenizer.decode_stream(false);
  for (const uint32_t id : encoding.ids) {
    const std::string part = stream.step(id);
    expect(plait::is_valid_utf8(part), "a part of a character");
  }
  stream.finish();
  expect(plait::is_valid_utf8(decoded), "a text is not UTF-8");
}

void compare(std::string_view json, std::string_view text) {
  const Tokenizer tokenizer = Tokenizer::parse(json, {.keeps_scores = true});
  const std::string written = tokenizer.json();
  expect(Tokenizer::parse(written, {.keeps_scores = true}).json() == written, "another tokenizer");
  encode(tokenizer, text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr std::string_view kSeparator = "\n---\n";
  const std::string_view all = plait::characters_of(std::as_bytes(std::span(data, size)));
  const size_t end = std::min(all.find(kSeparator), all.size());
  const std::string_view text = all.substr(std::min(end + kSeparator.size(), all.size()));
  try {
    compare(all.substr(0, end), text);
  } catch (const plait::Error&) {
  }
  return 0;
}
