// A decoder turns the texts of tokens into parts of a readable text.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/inside/files/json_fields.h"
#include "plait/text/inside/files/json_writer.h"

namespace plait::text {

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& parts) const = 0;
  // The text of tokens: what apply() makes of them, joined. Those that are all of most decoders
  // write it without a list of parts.
  virtual std::string text_of(std::span<const std::string_view> tokens) const;
  virtual void write(JsonWriter& out) const = 0;
};
using DecoderPointer = std::shared_ptr<const Decoder>;

DecoderPointer read_decoder(const Json& json, const std::string& place);

DecoderPointer word_piece_decoder(std::string prefix, bool cleans_up);

}  // namespace plait::text
