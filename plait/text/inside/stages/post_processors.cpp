#include <algorithm>

#include "plait/core/text.h"
#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/stages/post_processor.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

// Leaves spaces at the ends of tokens out of their offsets.
class OffsetTrimmer {
 public:
  explicit OffsetTrimmer(bool adds_space) : adds_space_(adds_space) {}

  void trim(Encoding& encoding) const {
    for (size_t i = 0; i < encoding.size(); ++i) {
      trim(token_view(encoding, i), i == 0, encoding.offsets[i]);
    }
    for (Encoding& each : encoding.overflowing) trim(each);
  }

 private:
  static bool is_space(char32_t c) { return c == character_of_byte(' ') || is_white_space(c); }

  void trim(std::string_view token, bool is_first, Encoding::Offsets& offsets) const {
    uint32_t leading = 0, trailing = 0;
    for (size_t at = 0; at < token.size() && is_space(character_at(token, at)); ++leading) {
      at += utf8_size(character_at(token, at));
    }
    for (size_t end = token.size(); end > 0; ++trailing) {
      const size_t begin = character_before(token, end);
      if (!is_space(character_at(token, begin))) break;
      end = begin;
    }
    auto& [begin, end] = offsets;
    if (leading > 0) {
      // One space before the first token was put there, so it is not in the text.
      const bool was_added = adds_space_ && leading == 1 && (is_first || begin == 0);
      if (!was_added) begin = std::min(begin + leading, end);
    }
    if (trailing > 0 && end >= trailing) end = std::max(end - trailing, begin);
  }

  bool adds_space_;
};

class ByteLevelProcessor : public PostProcessor {
 public:
  ByteLevelProcessor(bool adds_space, bool trims_offsets, bool uses_pattern)
      : adds_space_(adds_space), trims_offsets_(trims_offsets), uses_pattern_(uses_pattern) {}
  static PostProcessorPointer read(JsonFields& fields) {
    const bool adds_space = fields.boolean("add_prefix_space");
    const bool trims_offsets = fields.boolean("trim_offsets");
    return std::make_shared<ByteLevelProcessor>(adds_space, trims_offsets,
                                                fields.boolean_or("use_regex", true));
  }

  size_t added_tokens(bool) const override { return 0; }
  void apply(std::vector<Encoding>& encodings, bool, TokenTexts&) const override {
    for (uint32_t i = 0; i < encodings.size(); ++i) {
      if (trims_offsets_) OffsetTrimmer(adds_space_).trim(encodings[i]);
      set_sequence(encodings[i], i);
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("ByteLevel");
    out.member("add_prefix_space", adds_space_);
    out.member("trim_offsets", trims_offsets_);
    out.member("use_regex", uses_pattern_);
    out.end_object();
  }

 private:
  bool adds_space_, trims_offsets_, uses_pattern_;
};

SpecialToken read_special_pair(JsonFields& fields, std::string_view name) {
  const std::string place = fields.place_of(name);
  const auto& pair = fields.list(name);
  if (pair.size() != 2) throw ParseError("{}: expected a token and its id", place);
  return {to_id(pair[1], place), pair[0].as<std::string>(place)};
}

void write_special_pair(JsonWriter& out, std::string_view name, const SpecialToken& token) {
  out.key(name);
  out.begin_list();
  out.string(token.text);
  out.number(token.id);
  out.end_list();
}

// A special token before and after an encoding and what overflows of it; the sequence is between.
struct Wrapping {
  const SpecialToken* before;  // may be null
  const SpecialToken& after;
  uint32_t number, type_id;

  void apply(Encoding& encoding, TokenTexts& texts) const {
    for (Encoding& each : encoding.overflowing) apply(each, texts);
    std::vector<Encoding> overflowing = std::exchange(encoding.overflowing, {});
    Encoding result;
    result.texts = encoding.texts;
    if (before != nullptr) append_special(result, *before, type_id, texts);
    encoding.sequences = {{number, {0, static_cast<uint32_t>(encoding.size())}}};
    std::ranges::fill(encoding.special_tokens_mask, 0U);
    std::ranges::fill(encoding.attention_mask, 1U);
    append(result, encoding);
    append_special(result, after, type_id, texts);
    result.overflowing = std::move(overflowing);
    encoding = std::move(result);
  }
};

class BertProcessor : public PostProcessor {
 public:
  BertProcessor(SpecialToken cls, SpecialToken sep) : cls_(std::move(cls)), sep_(std::move(sep)) {}
  static PostProcessorPointer read(JsonFields& fields) {
    SpecialToken sep = read_special_pair(fields, "sep");
    return std::make_shared<BertProcessor>(read_special_pair(fields, "cls"), std::move(sep));
  }

  size_t added_tokens(bool is_pair) const override { return is_pair ? 3 : 2; }
  void apply(std::vector<Encoding>& encodings, bool adds_special_tokens,
             TokenTexts& texts) const override {
    if (!adds_special_tokens) return;
    for (size_t i = 0; i < encodings.size(); ++i) {
      const bool is_first = i == 0;
      const Wrapping wrapping{is_first ? &cls_ : nullptr, sep_, is_first ? 0U : 1U,
                              is_first ? 0U : 1U};
      wrapping.apply(encodings[i], texts);
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("BertProcessing");
    write_special_pair(out, "sep", sep_);
    write_special_pair(out, "cls", cls_);
    out.end_object();
  }

 private:
  SpecialToken cls_, sep_;
};

class RobertaProcessor : public PostProcessor {
 public:
  struct Options {
    SpecialToken sep, cls;
    bool trims_offsets, adds_space;
  };
  explicit RobertaProcessor(Options options) : options_(std::move(options)) {}
  static PostProcessorPointer read(JsonFields& fields) {
    Options options{.sep = read_special_pair(fields, "sep"),
                    .cls = read_special_pair(fields, "cls"),
                    .trims_offsets = fields.boolean("trim_offsets"),
                    .adds_space = fields.boolean("add_prefix_space")};
    return std::make_shared<RobertaProcessor>(std::move(options));
  }

  size_t added_tokens(bool is_pair) const override { return is_pair ? 4 : 2; }
  void apply(std::vector<Encoding>& encodings, bool adds_special_tokens,
             TokenTexts& texts) const override {
    for (Encoding& encoding : encodings) {
      if (options_.trims_offsets) OffsetTrimmer(options_.adds_space).trim(encoding);
      set_type_ids(encoding, 0);
    }
    if (!adds_special_tokens) return;
    for (size_t i = 0; i < encodings.size(); ++i) {
      for (Encoding& each : encodings[i].overflowing) set_type_ids(each, 0);
      const Wrapping wrapping{i == 0 ? &options_.cls : &options_.sep, options_.sep,
                              i == 0 ? 0U : 1U, 0};
      wrapping.apply(encodings[i], texts);
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("RobertaProcessing");
    write_special_pair(out, "sep", options_.sep);
    write_special_pair(out, "cls", options_.cls);
    out.member("trim_offsets", options_.trims_offsets);
    out.member("add_prefix_space", options_.adds_space);
    out.end_object();
  }

 private:
  Options options_;
};

class PostProcessorSequence : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<PostProcessorPointer> parts)
      : parts_(std::move(parts)) {}
  static PostProcessorPointer read(JsonFields& fields) {
    const Json::List& list = fields.list("processors");
    const std::string place = fields.place_of("processors");
    std::vector<PostProcessorPointer> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      parts.push_back(read_post_processor(list[i], element_place(place, i)));
    }
    return std::make_shared<PostProcessorSequence>(std::move(parts));
  }

  size_t added_tokens(bool is_pair) const override {
    size_t count = 0;
    for (const PostProcessorPointer& part : parts_) count += part->added_tokens(is_pair);
    return count;
  }
  void apply(std::vector<Encoding>& encodings, bool adds_special_tokens,
             TokenTexts& texts) const override {
    for (const PostProcessorPointer& part : parts_) {
      part->apply(encodings, adds_special_tokens, texts);
    }
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Sequence");
    out.key("processors");
    out.begin_list();
    for (const PostProcessorPointer& part : parts_) part->write(out);
    out.end_list();
    out.end_object();
  }

 private:
  std::vector<PostProcessorPointer> parts_;
};

}  // namespace

PostProcessorPointer bert_processor(SpecialToken cls, SpecialToken sep) {
  return std::make_shared<BertProcessor>(std::move(cls), std::move(sep));
}

PostProcessorPointer read_post_processor(const Json& json, const std::string& place) {
  JsonFields fields(json, place);
  const std::string type = fields.type();
  PostProcessorPointer processor;
  if (type == "TemplateProcessing") {
    processor = read_template(fields);
  } else if (type == "BertProcessing") {
    processor = BertProcessor::read(fields);
  } else if (type == "RobertaProcessing") {
    processor = RobertaProcessor::read(fields);
  } else if (type == "ByteLevel") {
    processor = ByteLevelProcessor::read(fields);
  } else if (type == "Sequence") {
    processor = PostProcessorSequence::read(fields);
  } else {
    fields.fail("type", "the post-processor {} is not supported", in_quotes(type));
  }
  fields.finish();
  return processor;
}

}  // namespace plait::text
