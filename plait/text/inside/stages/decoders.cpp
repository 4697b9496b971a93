#include <algorithm>

#include "plait/core/text.h"
#include "plait/io/inside/utf8.h"
#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/text_pattern.h"
#include "plait/text/inside/stages/decoder.h"
#include "plait/text/inside/stages/metaspace.h"

namespace plait::text {
namespace {

void append_replaced(std::string& out, std::string_view text, std::string_view old,
                     std::string_view with) {
  size_t at = 0;
  for (size_t found = 0; !old.empty(); at = found + old.size()) {
    found = text.find(old, at);
    if (found == std::string_view::npos) break;
    out += text.substr(at, found - at);
    out += with;
  }
  out += text.substr(at);
}

std::string replaced(std::string_view text, std::string_view old, std::string_view with) {
  std::string result;
  append_replaced(result, text, old, with);
  return result;
}

// Joins English words that WordPiece has split at punctuation.
std::string cleaned_up(std::string text) {
  constexpr std::pair<std::string_view, std::string_view> kChanges[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [old, with] : kChanges) {
    if (text.find(old) != std::string::npos) text = replaced(text, old, with);
  }
  return text;
}

std::string joined_text(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += part;
  return text;
}

class ByteLevelDecoder : public Decoder {
 public:
  struct Options {
    bool adds_space, trims_offsets, uses_pattern;  // without effect
  };
  explicit ByteLevelDecoder(Options options) : options_(options) {}
  static DecoderPointer read(JsonFields& fields) {
    Options options{};
    options.adds_space = fields.boolean_or("add_prefix_space", true);
    options.trims_offsets = fields.boolean_or("trim_offsets", true);
    options.uses_pattern = fields.boolean_or("use_regex", true);
    return std::make_shared<ByteLevelDecoder>(options);
  }

  void apply(std::vector<std::string>& parts) const override {
    const std::vector<std::string_view> tokens(parts.begin(), parts.end());
    parts = {text_of(tokens)};
  }
  // A token with a character that stands for no byte is text itself.
  std::string text_of(std::span<const std::string_view> tokens) const override {
    std::string bytes;
    for (const std::string_view token : tokens) {
      const size_t before = bytes.size();
      if (append_bytes_of_characters(bytes, token)) continue;
      bytes.resize(before);
      bytes += token;
    }
    if (is_valid_utf8(bytes)) return bytes;
    std::string text;
    append_with_replacements(text, bytes);
    return text;
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("ByteLevel");
    out.member("add_prefix_space", options_.adds_space);
    out.member("trim_offsets", options_.trims_offsets);
    out.member("use_regex", options_.uses_pattern);
    out.end_object();
  }

 private:
  Options options_;
};

class WordPieceDecoder : public Decoder {
 public:
  WordPieceDecoder(std::string prefix, bool cleans_up)
      : prefix_(std::move(prefix)), cleans_up_(cleans_up) {}
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (i > 0) {
        const bool continues = parts[i].starts_with(prefix_);
        parts[i] = continues ? parts[i].substr(prefix_.size()) : " " + parts[i];
      }
      if (cleans_up_) parts[i] = cleaned_up(std::move(parts[i]));
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("WordPiece");
    out.member("prefix", prefix_);
    out.member("cleanup", cleans_up_);
    out.end_object();
  }

 private:
  std::string prefix_;
  bool cleans_up_;
};

class MetaspaceDecoder : public Decoder {
 public:
  explicit MetaspaceDecoder(MetaspaceOptions options) : options_(options) {
    append_utf8(mark_, options.mark);
  }
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = replaced(parts[i], mark_, instead_of_mark(i == 0));
    }
  }
  std::string text_of(std::span<const std::string_view> tokens) const override {
    std::string text;
    for (size_t i = 0; i < tokens.size(); ++i) {
      append_replaced(text, tokens[i], mark_, instead_of_mark(i == 0));
    }
    return text;
  }
  void write(JsonWriter& out) const override { options_.write(out); }

 private:
  // The first token has the mark that was put before the text, and no space.
  std::string_view instead_of_mark(bool is_first) const {
    return is_first && options_.prepend != PrependScheme::never ? "" : " ";
  }

  MetaspaceOptions options_;
  std::string mark_;
};

class BpeDecoder : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  void apply(std::vector<std::string>& parts) const override {
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = replaced(parts[i], suffix_, i + 1 == parts.size() ? "" : " ");
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("BPEDecoder");
    out.member("suffix", suffix_);
    out.end_object();
  }

 private:
  std::string suffix_;
};

// Tokens like <0xE4> become the characters that their bytes are; each byte that is of none, U+FFFD.
class ByteFallbackDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& parts) const override {
    std::vector<std::string> result;
    std::string bytes;
    const auto end_bytes = [&] {
      if (bytes.empty()) return;
      const bool is_text = is_valid_utf8(bytes);
      for (size_t i = 0; !is_text && i < bytes.size(); ++i) result.emplace_back("\xef\xbf\xbd");
      if (is_text) result.push_back(bytes);
      bytes.clear();
    };
    for (std::string& part : parts) {
      if (const auto byte = byte_of_token(part)) {
        bytes += static_cast<char>(*byte);
      } else {
        end_bytes();
        result.push_back(std::move(part));
      }
    }
    end_bytes();
    parts = std::move(result);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("ByteFallback");
    out.end_object();
  }

 private:
  static std::optional<uint8_t> byte_of_token(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
    const auto digit = [](char c) {
      if (is_digit(c)) return c - '0';
      const char lower = static_cast<char>(c | 0x20);
      return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
    };
    // The reference reads "+4" as a number, too.
    const int high = token[3] == '+' ? 0 : digit(token[3]), low = digit(token[4]);
    if (high < 0 || low < 0) return std::nullopt;
    return static_cast<uint8_t>(16 * high + low);
  }
};

class FuseDecoder : public Decoder {
 public:
  void apply(std::vector<std::string>& parts) const override { parts = {joined_text(parts)}; }
  void write(JsonWriter& out) const override {
    out.begin_typed("Fuse");
    out.end_object();
  }
};

class StripDecoder : public Decoder {
 public:
  StripDecoder(char32_t content, uint32_t start, uint32_t stop) : start_(start), stop_(stop) {
    append_utf8(content_, content);
  }
  static DecoderPointer read(JsonFields& fields) {
    const char32_t content = fields.character("content");
    const uint32_t start = fields.number("start");
    return std::make_shared<StripDecoder>(content, start, fields.number("stop"));
  }

  void apply(std::vector<std::string>& parts) const override {
    for (std::string& part : parts) {
      std::string_view rest = part;
      for (uint32_t i = 0; i < start_ && rest.starts_with(content_); ++i) {
        rest.remove_prefix(content_.size());
      }
      for (uint32_t i = 0; i < stop_ && rest.ends_with(content_); ++i) {
        rest.remove_suffix(content_.size());
      }
      if (rest.size() != part.size()) part = std::string(rest);
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Strip");
    out.member("content", content_);
    out.member("start", start_);
    out.member("stop", stop_);
    out.end_object();
  }

 private:
  std::string content_;
  uint32_t start_, stop_;
};

class ReplaceDecoder : public Decoder {
 public:
  ReplaceDecoder(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  static DecoderPointer read(JsonFields& fields) {
    Pattern pattern = Pattern::read(fields.at("pattern"), fields.place_of("pattern"));
    return std::make_shared<ReplaceDecoder>(std::move(pattern), fields.string("content"));
  }

  void apply(std::vector<std::string>& parts) const override {
    std::string result;
    for (std::string& part : parts) {
      result.clear();
      uint32_t at = 0;
      pattern_.regex().for_each_match(part, [&](Span match) {
        result += std::string_view(part).substr(at, match.begin - at);
        result += content_;
        at = match.end;
      });
      result += std::string_view(part).substr(at);
      part = result;
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Replace");
    pattern_.write(out);
    out.member("content", content_);
    out.end_object();
  }

 private:
  Pattern pattern_;
  std::string content_;
};

// For connectionist temporal classification: repeated tokens are one, and blanks are nothing.
class CtcDecoder : public Decoder {
 public:
  CtcDecoder(std::string blank, std::string delimiter, bool cleans_up)
      : blank_(std::move(blank)), delimiter_(std::move(delimiter)), cleans_up_(cleans_up) {}
  static DecoderPointer read(JsonFields& fields) {
    std::string blank = fields.string("pad_token");
    std::string delimiter = fields.string("word_delimiter_token");
    return std::make_shared<CtcDecoder>(std::move(blank), std::move(delimiter),
                                        fields.boolean("cleanup"));
  }

  void apply(std::vector<std::string>& parts) const override {
    parts.erase(std::ranges::unique(parts).begin(), parts.end());
    for (std::string& part : parts) {
      part = replaced(part, blank_, "");
      if (cleans_up_) part = replaced(cleaned_up(std::move(part)), delimiter_, " ");
    }
    std::erase_if(parts, [](const std::string& part) { return part.empty(); });
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("CTC");
    out.member("pad_token", blank_);
    out.member("word_delimiter_token", delimiter_);
    out.member("cleanup", cleans_up_);
    out.end_object();
  }

 private:
  std::string blank_, delimiter_;
  bool cleans_up_;
};

class DecoderSequence : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPointer> parts) : parts_(std::move(parts)) {}
  static DecoderPointer read(JsonFields& fields) {
    const Json::List& list = fields.list("decoders");
    const std::string place = fields.place_of("decoders");
    std::vector<DecoderPointer> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      parts.push_back(read_decoder(list[i], element_place(place, i)));
    }
    return std::make_shared<DecoderSequence>(std::move(parts));
  }

  void apply(std::vector<std::string>& parts) const override {
    for (const DecoderPointer& part : parts_) part->apply(parts);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Sequence");
    out.key("decoders");
    out.begin_list();
    for (const DecoderPointer& part : parts_) part->write(out);
    out.end_list();
    out.end_object();
  }

 private:
  std::vector<DecoderPointer> parts_;
};

DecoderPointer decoder_of_type(const std::string& type, JsonFields& fields) {
  if (type == "ByteLevel") return ByteLevelDecoder::read(fields);
  if (type == "Metaspace") {
    return std::make_shared<MetaspaceDecoder>(MetaspaceOptions::read(fields));
  }
  if (type == "WordPiece") {
    std::string prefix = fields.string("prefix");
    return word_piece_decoder(std::move(prefix), fields.boolean("cleanup"));
  }
  if (type == "BPEDecoder") return std::make_shared<BpeDecoder>(fields.string("suffix"));
  if (type == "ByteFallback") return std::make_shared<ByteFallbackDecoder>();
  if (type == "Fuse") return std::make_shared<FuseDecoder>();
  if (type == "Strip") return StripDecoder::read(fields);
  if (type == "Replace") return ReplaceDecoder::read(fields);
  if (type == "CTC") return CtcDecoder::read(fields);
  if (type == "Sequence") return DecoderSequence::read(fields);
  fields.fail("type", "the decoder {} is not supported", in_quotes(type));
}

}  // namespace

std::string Decoder::text_of(std::span<const std::string_view> tokens) const {
  std::vector<std::string> parts(tokens.begin(), tokens.end());
  apply(parts);
  return joined_text(parts);
}

DecoderPointer word_piece_decoder(std::string prefix, bool cleans_up) {
  return std::make_shared<WordPieceDecoder>(std::move(prefix), cleans_up);
}

DecoderPointer read_decoder(const Json& json, const std::string& place) {
  JsonFields fields(json, place);
  DecoderPointer decoder = decoder_of_type(fields.type(), fields);
  fields.finish();
  return decoder;
}

}  // namespace plait::text
