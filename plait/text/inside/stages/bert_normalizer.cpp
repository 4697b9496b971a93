#include "plait/text/inside/code_points.h"
#include "plait/text/inside/normal_form.h"
#include "plait/text/inside/stages/normalizer.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

bool is_bert_removed(char32_t c) {
  return c == 0 || c == kReplacementCharacter || is_bert_control(c);
}

// Ideographs, which BERT takes for words.
bool is_ideograph(char32_t c) {
  return (c >= 0x4e00 && c <= 0x9fff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x20000 && c <= 0x2a6df) || (c >= 0x2a700 && c <= 0x2b73f) ||
         (c >= 0x2b740 && c <= 0x2b81f) || (c >= 0x2b920 && c <= 0x2ceaf) ||
         (c >= 0xf900 && c <= 0xfaff) || (c >= 0x2f800 && c <= 0x2fa1f);
}

void put_spaces_around_ideographs(AlignedText& text) {
  std::vector<ChangedCharacter> changes;
  bool has_some = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text.text(), at);
    at += utf8_size(c);
    if (is_ideograph(c)) {
      changes.insert(changes.end(), {{U' ', 1}, {c, 0}, {U' ', 0}});
      has_some = true;
    } else {
      changes.push_back({c, 1});
    }
  }
  if (has_some) text.change(changes);
}

class BertNormalizer : public Normalizer {
 public:
  struct Options {
    bool cleans_text = true, spaces_ideographs = true;
    std::optional<bool> strips_accents = {};  // as is_lowercase, if it is not said
    bool is_lowercase = true;
  };
  explicit BertNormalizer(Options options) : options_(options) { expect_unicode("BertNormalizer"); }

  void apply(AlignedText& text) const override {
    if (options_.cleans_text) {
      remove_characters(text, &is_bert_removed);
      map_characters(text, [](char32_t c) { return is_white_space(c) ? U' ' : c; });
    }
    const bool is_ascii_only = is_all_ascii(text.text());
    if (options_.spaces_ideographs && !is_ascii_only) put_spaces_around_ideographs(text);
    if (options_.strips_accents.value_or(options_.is_lowercase) && !is_ascii_only) {
      normalize(text, {.is_compatible = false, .is_composed = false});
      remove_characters(text, &is_bert_accent);
    }
    if (options_.is_lowercase) make_lowercase(text);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("BertNormalizer");
    out.member("clean_text", options_.cleans_text);
    out.member("handle_chinese_chars", options_.spaces_ideographs);
    out.member("strip_accents", options_.strips_accents);
    out.member("lowercase", options_.is_lowercase);
    out.end_object();
  }

 private:
  Options options_;
};

}  // namespace

NormalizerPointer bert_normalizer(bool is_lowercase) {
  return std::make_shared<BertNormalizer>(BertNormalizer::Options{.is_lowercase = is_lowercase});
}

NormalizerPointer read_bert_normalizer(JsonFields& fields) {
  BertNormalizer::Options options;
  options.cleans_text = fields.boolean("clean_text");
  options.spaces_ideographs = fields.boolean("handle_chinese_chars");
  options.strips_accents = fields.optional_boolean("strip_accents");
  options.is_lowercase = fields.boolean("lowercase");
  return std::make_shared<BertNormalizer>(options);
}

}  // namespace plait::text
