// A normalizer changes a text before it is split into words.
#pragma once

#include <memory>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/text/inside/aligned_text.h"
#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"

namespace plait::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
  virtual void write(JsonWriter& out) const = 0;
};
using NormalizerPointer = std::shared_ptr<const Normalizer>;

NormalizerPointer read_normalizer(const Json& json, const std::string& place);

// Those in files of their own.
NormalizerPointer read_bert_normalizer(JsonFields& fields);
NormalizerPointer read_charsmap(JsonFields& fields);

// For BERT without a tokenizer.json.
NormalizerPointer bert_normalizer(bool is_lowercase);

// ---- Changes that several normalizers make.

// Replaces each character by one.
void map_characters(AlignedText& text, FunctionRef<char32_t(char32_t)> map);
// Removes characters.
void remove_characters(AlignedText& text, FunctionRef<bool(char32_t)> is_removed);
void make_lowercase(AlignedText& text);

}  // namespace plait::text
