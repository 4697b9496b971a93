#include "plait/core/text.h"
#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/normal_form.h"
#include "plait/text/inside/regex/text_pattern.h"
#include "plait/text/inside/stages/normalizer.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

class NormalFormNormalizer : public Normalizer {
 public:
  NormalFormNormalizer(std::string name, NormalForm form) : name_(std::move(name)), form_(form) {
    expect_unicode(name_);
  }
  void apply(AlignedText& text) const override { normalize(text, form_); }
  void write(JsonWriter& out) const override {
    out.begin_typed(name_);
    out.end_object();
  }

 private:
  std::string name_;
  NormalForm form_;
};

// One without fields.
class PlainNormalizer : public Normalizer {
 public:
  using Apply = void (*)(AlignedText&);
  PlainNormalizer(std::string name, Apply apply) : name_(std::move(name)), apply_(apply) {}
  void apply(AlignedText& text) const override { apply_(text); }
  void write(JsonWriter& out) const override {
    out.begin_typed(name_);
    out.end_object();
  }

 private:
  std::string name_;
  Apply apply_;
};

// The preparation of data of NMT.
void apply_nmt(AlignedText& text) {
  remove_characters(text, [](char32_t c) {
    return (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
           c == 0x9f;
  });
  map_characters(text, [](char32_t c) -> char32_t {
    const bool is_space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                          (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 ||
                          c == 0x2581 || c == 0xfeff || c == 0xfffd;
    return is_space ? U' ' : c;
  });
}

void apply_byte_level(AlignedText& text) {
  std::vector<ChangedCharacter> changes;
  changes.reserve(text.size());
  for (const char byte : text.text()) {
    const auto value = static_cast<unsigned char>(byte);
    changes.push_back({character_of_byte(value), is_continuation(value) ? 0U : 1U});
  }
  text.change(changes);
}

void strip_accents(AlignedText& text) { remove_characters(text, &is_accent); }

class StripNormalizer : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  static NormalizerPointer read(JsonFields& fields) {
    const bool left = fields.boolean("strip_left");
    return std::make_shared<StripNormalizer>(left, fields.boolean("strip_right"));
  }

  void apply(AlignedText& text) const override {
    const std::string_view all = text.text();
    size_t begin = 0, end = all.size();
    while (left_ && begin < end && is_white_space(character_at(all, begin))) {
      begin += utf8_size(character_at(all, begin));
    }
    while (right_ && end > begin && is_white_space(character_at(all, character_before(all, end)))) {
      end = character_before(all, end);
    }
    text.keep_only({static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Strip");
    out.member("strip_left", left_);
    out.member("strip_right", right_);
    out.end_object();
  }

 private:
  bool left_, right_;
};

class PrependNormalizer : public Normalizer {
 public:
  explicit PrependNormalizer(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(AlignedText& text) const override {
    if (text.size() == 0 || prefix_.empty()) return;
    Rewriter rewriter(text);
    rewriter.insert_as_next(prefix_);
    rewriter.keep(text.size());
    text = rewriter.finish();
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Prepend");
    out.member("prepend", prefix_);
    out.end_object();
  }

 private:
  std::string prefix_;
};

class ReplaceNormalizer : public Normalizer {
 public:
  ReplaceNormalizer(Pattern pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  static NormalizerPointer read(JsonFields& fields) {
    Pattern pattern = Pattern::read(fields.at("pattern"), fields.place_of("pattern"));
    return std::make_shared<ReplaceNormalizer>(std::move(pattern), fields.string("content"));
  }

  void apply(AlignedText& text) const override {
    std::optional<Rewriter> rewriter;
    pattern_.regex().for_each_match(text.text(), [&](Span match) {
      if (!rewriter) rewriter.emplace(text);
      rewriter->keep(match.begin - rewriter->position());
      rewriter->remove(match.size());
      rewriter->insert(content_);
    });
    if (!rewriter) return;
    rewriter->keep(text.size() - rewriter->position());
    text = rewriter->finish();
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

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPointer> parts) : parts_(std::move(parts)) {}
  static NormalizerPointer read(JsonFields& fields) {
    const Json::List& list = fields.list("normalizers");
    const std::string place = fields.place_of("normalizers");
    std::vector<NormalizerPointer> parts;
    for (size_t i = 0; i < list.size(); ++i) {
      parts.push_back(read_normalizer(list[i], element_place(place, i)));
    }
    return std::make_shared<NormalizerSequence>(std::move(parts));
  }

  void apply(AlignedText& text) const override {
    for (const NormalizerPointer& part : parts_) part->apply(text);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Sequence");
    out.key("normalizers");
    out.begin_list();
    for (const NormalizerPointer& part : parts_) part->write(out);
    out.end_list();
    out.end_object();
  }

 private:
  std::vector<NormalizerPointer> parts_;
};

NormalizerPointer plain_normalizer(const std::string& type, PlainNormalizer::Apply apply) {
  return std::make_shared<PlainNormalizer>(type, apply);
}

NormalizerPointer normalizer_of_type(const std::string& type, JsonFields& fields) {
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    const NormalForm form{.is_compatible = type.size() == 4, .is_composed = type.back() == 'C'};
    return std::make_shared<NormalFormNormalizer>(type, form);
  }
  if (type == "Lowercase") return expect_unicode(type), plain_normalizer(type, make_lowercase);
  if (type == "StripAccents") return expect_unicode(type), plain_normalizer(type, strip_accents);
  if (type == "Nmt") return plain_normalizer(type, apply_nmt);
  if (type == "ByteLevel") return plain_normalizer(type, apply_byte_level);
  if (type == "Strip") return StripNormalizer::read(fields);
  if (type == "Prepend") return std::make_shared<PrependNormalizer>(fields.string("prepend"));
  if (type == "Replace") return ReplaceNormalizer::read(fields);
  if (type == "Sequence") return NormalizerSequence::read(fields);
  if (type == "BertNormalizer") return read_bert_normalizer(fields);
  if (type == "Precompiled") return read_charsmap(fields);
  fields.fail("type", "the normalizer {} is not supported", in_quotes(type));
}

}  // namespace

NormalizerPointer read_normalizer(const Json& json, const std::string& place) {
  JsonFields fields(json, place);
  NormalizerPointer normalizer = normalizer_of_type(fields.type(), fields);
  fields.finish();
  return normalizer;
}

}  // namespace plait::text
