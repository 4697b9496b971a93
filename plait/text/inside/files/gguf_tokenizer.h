// The tokenizer of a GGUF file, from its metadata.
#pragma once

#include "plait/io/gguf.h"
#include "plait/text/vocabulary_parts.h"

namespace plait::text {

// ParseError names the key that is missing or not supported.
VocabularyParts vocabulary_parts_of(const Gguf& file);

}  // namespace plait::text
