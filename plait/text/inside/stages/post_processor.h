// A post-processor adds special tokens, and joins the encodings of a pair of texts.
#pragma once

#include <memory>
#include <vector>

#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"
#include "plait/text/inside/stages/encoding_changes.h"

namespace plait::text {

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  // The number of tokens that it adds to one text, or to a pair.
  virtual size_t added_tokens(bool is_pair) const = 0;
  // Changes a list of encodings, which are joined at the end: at first there is one for each text.
  virtual void apply(std::vector<Encoding>& encodings, bool adds_special_tokens,
                     TokenTexts& texts) const = 0;
  virtual void write(JsonWriter& out) const = 0;
};
using PostProcessorPointer = std::shared_ptr<const PostProcessor>;

PostProcessorPointer read_post_processor(const Json& json, const std::string& place);
PostProcessorPointer read_template(JsonFields& fields);

// [CLS] … [SEP] … [SEP]
PostProcessorPointer bert_processor(SpecialToken cls, SpecialToken sep);

}  // namespace plait::text
