#include "plait/core/text.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/regex/text_pattern.h"
#include "plait/text/inside/script_groups.h"
#include "plait/text/inside/stages/pre_tokenizer.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

// Collects the matches in a word, with what is between them.
class PartList {
 public:
  PartList(std::vector<MatchedPart>& parts, Span word, bool is_inverted)
      : parts_(parts), word_(word), at_(word.begin), is_inverted_(is_inverted) {
    parts_.clear();
  }
  void add_match(Span match) {
    if (at_ < match.begin) parts_.push_back({{at_, match.begin}, is_inverted_});
    parts_.push_back({match, !is_inverted_});
    at_ = match.end;
  }
  void finish() {
    if (at_ < word_.end) parts_.push_back({{at_, word_.end}, is_inverted_});
  }

 private:
  std::vector<MatchedPart>& parts_;
  Span word_;
  uint32_t at_;
  bool is_inverted_;
};

// Splits at matches that `find(word, add)` reports.
template <class Find>
void split_at_matches(SplitText& split, SplitBehavior behavior, bool is_inverted, Find find) {
  std::vector<MatchedPart> parts;
  std::vector<Span> pieces;
  split_words(split, [&](Span word, auto add) {
    PartList list(parts, word, is_inverted);
    find(word, [&](Span match) { list.add_match(match); });
    list.finish();
    pieces.clear();
    add_split_parts(parts, behavior, pieces);
    for (const Span piece : pieces) add(piece);
  });
}

// Splits at characters.
template <class IsMatch>
void split_at_characters(SplitText& split, SplitBehavior behavior, IsMatch is_match) {
  const std::string_view text = split.text.text();
  split_at_matches(split, behavior, false, [&](Span word, auto found) {
    for (uint32_t at = word.begin; at < word.end;) {
      const char32_t c = character_at(text, at);
      const auto end = at + static_cast<uint32_t>(utf8_size(c));
      if (is_match(c)) found({at, end});
      at = end;
    }
  });
}

class SplitPreTokenizer : public PreTokenizer {
 public:
  SplitPreTokenizer(Pattern pattern, SplitBehavior behavior, bool is_inverted)
      : pattern_(std::move(pattern)), behavior_(behavior), is_inverted_(is_inverted) {}
  static PreTokenizerPointer read(JsonFields& fields) {
    Pattern pattern = Pattern::read(fields.at("pattern"), fields.place_of("pattern"));
    const SplitBehavior behavior = read_split_behavior(fields, "behavior");
    return std::make_shared<SplitPreTokenizer>(std::move(pattern), behavior,
                                               fields.boolean("invert"));
  }

  void apply(SplitText& split) const override {
    if (behavior_ == SplitBehavior::isolated) {  // also if it is inverted
      split_words(split, [&](Span word, auto add) { isolate(split.text.text(word), word, add); });
      return;
    }
    split_at_matches(split, behavior_, is_inverted_, [&](Span word, auto found) {
      pattern_.regex().for_each_match(split.text.text(word), [&](Span match) {
        found({word.begin + match.begin, word.begin + match.end});
      });
    });
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Split");
    pattern_.write(out);
    out.member("behavior", name_of(behavior_));
    out.member("invert", is_inverted_);
    out.end_object();
  }

 private:
  template <class Add>
  void isolate(std::string_view text, Span word, Add add) const {
    uint32_t at = word.begin;
    pattern_.regex().for_each_match(text, [&](Span match) {
      add(Span{at, word.begin + match.begin});
      add(Span{word.begin + match.begin, word.begin + match.end});
      at = word.begin + match.end;
    });
    add(Span{at, word.end});
  }

  Pattern pattern_;
  SplitBehavior behavior_;
  bool is_inverted_;
};

// Runs of word characters, and runs of others that are not spaces.
void split_whitespace(SplitText& split) {
  const std::string_view text = split.text.text();
  enum class Kind : uint8_t { space, word, other };
  const auto kind_of = [](char32_t c) {
    if (is_white_space(c)) return Kind::space;
    return is_word(c) ? Kind::word : Kind::other;
  };
  split_words(split, [&](Span word, auto add) {
    uint32_t begin = word.begin;
    Kind kind = Kind::space;
    for (uint32_t at = word.begin; at < word.end;) {
      const char32_t c = character_at(text, at);
      const Kind next = kind_of(c);
      if (next != kind) {
        if (kind != Kind::space) add(Span{begin, at});
        begin = at;
        kind = next;
      }
      at += static_cast<uint32_t>(utf8_size(c));
    }
    if (kind != Kind::space) add(Span{begin, word.end});
  });
}

// Removes spaces, and makes a word of each punctuation character if they are isolated.
template <bool isolates_punctuation>
void split_at_spaces(SplitText& split) {
  const std::string_view text = split.text.text();
  split_words(split, [&](Span word, auto add) {
    uint32_t begin = word.begin;
    for (uint32_t at = word.begin; at < word.end;) {
      const char32_t c = character_at(text, at);
      const auto end = at + static_cast<uint32_t>(utf8_size(c));
      if (is_white_space(c)) {
        add(Span{begin, at});
        begin = end;
      } else if (isolates_punctuation && is_bert_punctuation(c)) {
        add(Span{begin, at});
        add(Span{at, end});
        begin = end;
      }
      at = end;
    }
    add(Span{begin, word.end});
  });
}

// Begins a word at each character of another script than the last one that has a script. Those
// before the first such character are left out, as in the reference.
void split_scripts(SplitText& split) {
  const std::string_view text = split.text.text();
  split_words(split, [&](Span word, auto add) {
    uint32_t begin = word.end;
    uint8_t group = 0;
    for (uint32_t at = word.begin; at < word.end;) {
      const char32_t c = character_at(text, at);
      const uint8_t next = script_group(c);
      if (next != 0 && next != group) {
        if (group != 0) add(Span{begin, at});
        begin = at;
        group = next;
      }
      at += static_cast<uint32_t>(utf8_size(c));
    }
    add(Span{begin, word.end});
  });
}

// One without fields.
class PlainPreTokenizer : public PreTokenizer {
 public:
  using Apply = void (*)(SplitText&);
  PlainPreTokenizer(std::string name, Apply apply) : name_(std::move(name)), apply_(apply) {}
  void apply(SplitText& split) const override { apply_(split); }
  void write(JsonWriter& out) const override {
    out.begin_typed(name_);
    out.end_object();
  }

 private:
  std::string name_;
  Apply apply_;
};

class PunctuationSplitter : public PreTokenizer {
 public:
  explicit PunctuationSplitter(SplitBehavior behavior) : behavior_(behavior) {}
  void apply(SplitText& split) const override {
    split_at_characters(split, behavior_, is_bert_punctuation);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Punctuation");
    out.member("behavior", name_of(behavior_));
    out.end_object();
  }

 private:
  SplitBehavior behavior_;
};

class DigitSplitter : public PreTokenizer {
 public:
  explicit DigitSplitter(bool is_individual) : is_individual_(is_individual) {}
  void apply(SplitText& split) const override {
    const auto behavior = is_individual_ ? SplitBehavior::isolated : SplitBehavior::contiguous;
    split_at_characters(split, behavior, is_numeric);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Digits");
    out.member("individual_digits", is_individual_);
    out.end_object();
  }

 private:
  bool is_individual_;
};

class DelimiterSplitter : public PreTokenizer {
 public:
  explicit DelimiterSplitter(char32_t delimiter) : delimiter_(delimiter) {}
  void apply(SplitText& split) const override {
    split_at_characters(split, SplitBehavior::removed, [&](char32_t c) { return c == delimiter_; });
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("CharDelimiterSplit");
    out.key("delimiter");
    out.character(delimiter_);
    out.end_object();
  }

 private:
  char32_t delimiter_;
};

class FixedLengthSplitter : public PreTokenizer {
 public:
  explicit FixedLengthSplitter(uint32_t length) : length_(length) {}
  static PreTokenizerPointer read(JsonFields& fields) {
    const uint32_t length = fields.optional_number("length").value_or(5);
    if (length == 0) fields.fail("length", "it is 0, expected 1 or more");
    return std::make_shared<FixedLengthSplitter>(length);
  }
  void apply(SplitText& split) const override {
    const std::string_view text = split.text.text();
    split_words(split, [&](Span word, auto add) {
      uint32_t begin = word.begin, characters = 0;
      for (uint32_t at = word.begin; at < word.end;) {
        if (characters == length_) {
          add(Span{begin, at});
          begin = at;
          characters = 0;
        }
        ++characters;
        at += static_cast<uint32_t>(utf8_size(static_cast<unsigned char>(text[at])));
      }
      add(Span{begin, word.end});
    });
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("FixedLength");
    out.member("length", length_);
    out.end_object();
  }

 private:
  uint32_t length_;
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPointer> parts)
      : parts_(std::move(parts)) {}
  static PreTokenizerPointer read(JsonFields& fields) {
    const Json::List& list = fields.list("pretokenizers");
    const std::string place = fields.place_of("pretokenizers");
    std::vector<PreTokenizerPointer> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      parts.push_back(read_pre_tokenizer(list[i], element_place(place, i)));
    }
    return std::make_shared<PreTokenizerSequence>(std::move(parts));
  }

  void apply(SplitText& split) const override {
    for (const PreTokenizerPointer& part : parts_) part->apply(split);
  }
  PreTokenizerPointer without_byte_level() const override {
    if (parts_.empty()) return nullptr;
    std::vector<PreTokenizerPointer> parts = parts_;
    parts.back() = parts.back()->without_byte_level();
    if (parts.back() == nullptr) return nullptr;
    return std::make_shared<PreTokenizerSequence>(std::move(parts));
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Sequence");
    out.key("pretokenizers");
    out.begin_list();
    for (const PreTokenizerPointer& part : parts_) part->write(out);
    out.end_list();
    out.end_object();
  }

 private:
  std::vector<PreTokenizerPointer> parts_;
};

PreTokenizerPointer plain_splitter(const std::string& type, PlainPreTokenizer::Apply apply) {
  return std::make_shared<PlainPreTokenizer>(type, apply);
}

PreTokenizerPointer pre_tokenizer_of_type(const std::string& type, JsonFields& fields) {
  if (type == "ByteLevel") return read_byte_level(fields);
  if (type == "Metaspace") return read_metaspace(fields);
  if (type == "Split") return SplitPreTokenizer::read(fields);
  if (type == "WhitespaceSplit") return plain_splitter(type, split_at_spaces<false>);
  if (type == "Whitespace") return expect_unicode(type), plain_splitter(type, split_whitespace);
  if (type == "UnicodeScripts") return plain_splitter(type, split_scripts);
  if (type == "BertPreTokenizer") return bert_pre_tokenizer();
  if (type == "CharDelimiterSplit") {
    return std::make_shared<DelimiterSplitter>(fields.character("delimiter"));
  }
  if (type == "FixedLength") return FixedLengthSplitter::read(fields);
  if (type == "Sequence") return PreTokenizerSequence::read(fields);
  if (type == "Punctuation") {
    expect_unicode(type);
    const bool has_behavior = fields.find("behavior") != nullptr;
    return std::make_shared<PunctuationSplitter>(
        has_behavior ? read_split_behavior(fields, "behavior") : SplitBehavior::isolated);
  }
  if (type == "Digits") {
    expect_unicode(type);
    return std::make_shared<DigitSplitter>(fields.boolean("individual_digits"));
  }
  fields.fail("type", "the pre-tokenizer {} is not supported", in_quotes(type));
}

}  // namespace

PreTokenizerPointer bert_pre_tokenizer() {
  expect_unicode("BertPreTokenizer");
  return plain_splitter("BertPreTokenizer", split_at_spaces<true>);
}

PreTokenizerPointer read_pre_tokenizer(const Json& json, const std::string& place) {
  JsonFields fields(json, place);
  PreTokenizerPointer pre_tokenizer = pre_tokenizer_of_type(fields.type(), fields);
  fields.finish();
  return pre_tokenizer;
}

}  // namespace plait::text
