// Any text is a vocab.txt, and any GGUF file has a tokenizer, or they give an error. A tokenizer
// encodes any text, also that of its file, and decodes it in whole characters.
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "plait/core/error.h"
#include "plait/io/gguf.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/files/gguf_tokenizer.h"
#include "plait/text/inside/pipeline.h"
#include "plait/text/tokenizer.h"

namespace {

using plait::text::Tokenizer;

void use(const Tokenizer& tokenizer, std::string_view text) {
  const auto encoding = tokenizer.encode(text);
  if (!plait::is_valid_utf8(tokenizer.decode(encoding.ids, false))) {
    throw std::logic_error("a text is not UTF-8");
  }
  Tokenizer::parse(tokenizer.json());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::string_view text = plait::characters_of(bytes);
  try {
    if (text.starts_with("GGUF")) {
      const auto parts = plait::text::vocabulary_parts_of(plait::Gguf::read(bytes));
      use(Tokenizer::from_parts(parts), "one Word, 12 é");
    } else {
      const auto pipeline = plait::text::read_vocab_txt(text, size % 2 == 0);
      use(Tokenizer::parse(plait::text::write_tokenizer_json(pipeline, false)), text.substr(0, 64));
    }
  } catch (const plait::Error&) {
  }
  return 0;
}
