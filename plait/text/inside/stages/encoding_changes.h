// Changes of encodings: joining, cutting, padding.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plait/text/encoding.h"
#include "plait/text/inside/token_texts.h"

namespace plait::text {

// All encodings of one call share the texts of their tokens.
using CallTexts = std::shared_ptr<TokenTexts>;

// A token that is not from a text, or padding.
struct SpecialToken {
  uint32_t id;
  std::string text;
};
void append_special(Encoding& encoding, const SpecialToken& token, uint32_t type_id,
                    TokenTexts& texts);
// Makes room for so many tokens.
void reserve_tokens(Encoding& encoding, size_t count);
void append_token(Encoding& encoding, uint32_t id, Encoding::Offsets offsets, uint32_t word,
                  uint32_t type_id);
// Gives the last token a text that is not that of the vocabulary.
void name_last_token(Encoding& encoding, uint32_t name);

// The text of a token; as long as the encoding has its texts.
std::string_view token_view(const Encoding& encoding, size_t index);

void set_type_ids(Encoding& encoding, uint32_t type_id);
// Says that all tokens are of this text.
void set_sequence(Encoding& encoding, uint32_t number);

// Appends the tokens of another encoding. Of what overflows it appends all combinations.
void append(Encoding& encoding, const Encoding& other);

// Cuts the encoding into pieces of at most `length` tokens that overlap by `stride`; the first one
// stays, the others overflow.
void truncate(Encoding& encoding, size_t length, size_t stride, Side direction);

struct PadWith {
  uint32_t id, name, type_id;
  Side direction;
};
void pad(Encoding& encoding, size_t length, const PadWith& with);

}  // namespace plait::text
