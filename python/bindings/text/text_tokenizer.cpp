// Tokenizers. The package (python/plait/inside/text) has the classes that users see.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "plait/data/sample_key.h"
#include "plait/text/training.h"
#include "plait/text/vocabulary_parts.h"

#include "python/bindings/files/files.h"
#include "python/bindings/text/text_arguments.h"

namespace plait::python {
namespace {

using text::Encoding;
using text::Tokenizer;

text::Side side_from(const std::string& name) {
  if (name == "left") return text::Side::left;
  if (name == "right") return text::Side::right;
  throw ValueError("Tokenizer: the direction is \"{}\", expected \"left\" or \"right\"", name);
}

text::TruncationStrategy strategy_from(const std::string& name) {
  if (name == "longest_first") return text::TruncationStrategy::longest_first;
  if (name == "only_first") return text::TruncationStrategy::only_first;
  if (name == "only_second") return text::TruncationStrategy::only_second;
  throw ValueError(
      "Tokenizer: the strategy is \"{}\", expected \"longest_first\", \"only_first\" or "
      "\"only_second\"",
      name);
}

size_t size_from(nb::handle object, const char* what) {
  const int64_t value = integer_from(object);
  if (value < 0 || value > INT32_MAX) {
    throw ValueError("Tokenizer: {} is {}, expected 0 to {}", what, value, INT32_MAX);
  }
  return static_cast<size_t>(value);
}
std::optional<size_t> optional_size_from(nb::handle object, const char* what) {
  return object.is_none() ? std::nullopt : std::optional(size_from(object, what));
}

// ---- Encoding.

std::optional<KeyBits> key_bits(const std::optional<Tensor>& key) {
  return key ? std::optional(data::bits_of(*key)) : std::nullopt;
}

Encoding encode(const Tokenizer& tokenizer, nb::handle text, nb::handle pair,
                bool adds_special_tokens, bool is_split, bool counts_bytes,
                const std::optional<Tensor>& key) {
  TextInputs inputs;
  inputs.add(text, pair, is_split);
  const text::EncodeOptions options{adds_special_tokens, counts_bytes, key_bits(key)};
  return computed([&] {
    return is_split ? tokenizer.encode_words(inputs.words[0], options)
                    : tokenizer.encode(inputs.texts[0], options);
  });
}

std::vector<Encoding> encode_batch(const Tokenizer& tokenizer, nb::handle batch, nb::handle pairs,
                                   bool adds_special_tokens, bool is_split, bool counts_bytes,
                                   const std::optional<Tensor>& key) {
  TextInputs inputs;
  size_t i = 0;
  for (const nb::handle text : batch) {
    inputs.add(text, pairs.is_none() ? nb::none() : nb::object(pairs[nb::int_(i)]), is_split);
    ++i;
  }
  const text::EncodeOptions options{adds_special_tokens, counts_bytes, key_bits(key)};
  return computed([&] {
    return is_split ? tokenizer.encode_words_batch(inputs.words, options)
                    : tokenizer.encode_batch(inputs.texts, options);
  });
}

// ---- Decoding.

nb::str decode(const Tokenizer& tokenizer, nb::handle ids, bool skips_special) {
  const std::vector<uint32_t> numbers = ids_from_python(ids);
  return text_to_python(computed([&] { return tokenizer.decode(numbers, skips_special); }));
}

nb::list decode_batch(const Tokenizer& tokenizer, nb::handle batch, bool skips_special) {
  std::vector<std::vector<uint32_t>> numbers;
  for (const nb::handle ids : batch) numbers.push_back(ids_from_python(ids));
  const auto texts = computed([&] { return tokenizer.decode_batch(numbers, skips_special); });
  nb::list result;
  for (const std::string& text : texts) result.append(text_to_python(text));
  return result;
}

nb::str step(text::DecodeStream& stream, nb::handle id) {
  const std::vector<uint32_t> ids = ids_from_python(nb::make_tuple(nb::borrow(id)));
  return text_to_python(stream.step(ids[0]));
}

// ---- Vocabulary.

nb::dict vocab(const Tokenizer& tokenizer, bool with_added_tokens) {
  nb::dict result;
  for (const auto& [token, id] : tokenizer.vocab(with_added_tokens)) {
    result[text_to_python(token)] = nb::int_(id);
  }
  return result;
}

nb::object id_to_token(const Tokenizer& tokenizer, nb::handle id) {
  const auto token = tokenizer.id_to_token(ids_from_python(nb::make_tuple(nb::borrow(id)))[0]);
  return token ? nb::object(text_to_python(*token)) : nb::none();
}

nb::object token_to_id(const Tokenizer& tokenizer, nb::handle token) {
  const auto id = tokenizer.token_to_id(text_from_python(token, "the token"));
  return id ? nb::object(nb::int_(*id)) : nb::none();
}

// (content, single_word, lstrip, rstrip, normalized, special)
text::AddedToken added_token_from(nb::handle fields) {
  const auto flag = [&](int i) { return nb::cast<bool>(fields[nb::int_(i)]); };
  return {std::string(text_from_python(fields[nb::int_(0)], "an added token")),
          flag(1),
          flag(2),
          flag(3),
          flag(4),
          flag(5)};
}
std::vector<text::AddedToken> added_tokens_from(nb::handle list) {
  std::vector<text::AddedToken> tokens;
  for (const nb::handle fields : list) tokens.push_back(added_token_from(fields));
  return tokens;
}

nb::list added_tokens(const Tokenizer& tokenizer) {
  nb::list result;
  for (const auto& [id, token] : tokenizer.added_tokens()) {
    result.append(nb::make_tuple(id, text_to_python(token.content), token.single_word, token.lstrip,
                                 token.rstrip, token.normalized, token.special));
  }
  return result;
}

// ---- Other tokenizers.

Tokenizer with_truncation(const Tokenizer& tokenizer, nb::handle max_length, nb::handle stride,
                          const std::string& strategy, const std::string& direction) {
  return tokenizer.with_truncation(text::Truncation{size_from(max_length, "max_length"),
                                                    size_from(stride, "stride"),
                                                    strategy_from(strategy), side_from(direction)});
}

Tokenizer with_padding(const Tokenizer& tokenizer, const std::string& direction, nb::handle pad_id,
                       nb::handle pad_type_id, nb::handle pad_token, nb::handle length,
                       nb::handle pad_to_multiple_of) {
  text::Padding padding;
  padding.direction = side_from(direction);
  padding.pad_id = static_cast<uint32_t>(size_from(pad_id, "pad_id"));
  padding.pad_type_id = static_cast<uint32_t>(size_from(pad_type_id, "pad_type_id"));
  padding.pad_token = text_from_python(pad_token, "pad_token");
  padding.length = optional_size_from(length, "length");
  padding.pad_to_multiple_of = optional_size_from(pad_to_multiple_of, "pad_to_multiple_of");
  return tokenizer.with_padding(std::move(padding));
}

nb::object truncation_of(const Tokenizer& tokenizer) {
  if (!tokenizer.truncation()) return nb::none();
  constexpr const char* kNames[] = {"longest_first", "only_first", "only_second"};
  const text::Truncation& truncation = *tokenizer.truncation();
  nb::dict result;
  result["max_length"] = truncation.max_length;
  result["stride"] = truncation.stride;
  result["strategy"] = kNames[static_cast<size_t>(truncation.strategy)];
  result["direction"] = truncation.direction == text::Side::left ? "left" : "right";
  return result;
}

nb::object padding_of(const Tokenizer& tokenizer) {
  if (!tokenizer.padding()) return nb::none();
  const text::Padding& padding = *tokenizer.padding();
  nb::dict result;
  result["length"] = padding.length;
  result["pad_to_multiple_of"] = padding.pad_to_multiple_of;
  result["pad_id"] = padding.pad_id;
  result["pad_type_id"] = padding.pad_type_id;
  result["pad_token"] = text_to_python(padding.pad_token);
  result["direction"] = padding.direction == text::Side::left ? "left" : "right";
  return result;
}

// ---- Made from lists of tokens.

text::VocabularyKind kind_from(const std::string& name) {
  if (name == "bpe") return text::VocabularyKind::bpe;
  if (name == "sentencepiece_bpe") return text::VocabularyKind::sentencepiece_bpe;
  if (name == "unigram") return text::VocabularyKind::unigram;
  if (name == "word_piece") return text::VocabularyKind::word_piece;
  throw ValueError(
      "Tokenizer: the kind is \"{}\", expected \"bpe\", \"sentencepiece_bpe\", \"unigram\" or "
      "\"word_piece\"",
      name);
}

std::vector<std::string> texts_from(nb::handle list, const char* what) {
  std::vector<std::string> texts;
  for (const nb::handle each : list) texts.emplace_back(text_from_python(each, what));
  return texts;
}

Tokenizer from_parts(const std::string& kind, nb::handle tokens, nb::kwargs given) {
  text::VocabularyParts parts;
  parts.kind = kind_from(kind);
  parts.tokens = texts_from(tokens, "a token");
  parts.merges = texts_from(given["merges"], "a merge");
  for (const nb::handle score : given["scores"]) parts.scores.push_back(nb::cast<float>(score));
  for (const nb::handle type : given["types"]) {
    const int64_t number = integer_from(type);
    if (number < 1 || number > 6) throw ValueError("Tokenizer: the type of a token is {}", number);
    parts.types.push_back(static_cast<text::TokenType>(number));
  }
  parts.pre = nb::cast<std::string>(given["pre"]);
  const auto charsmap = nb::cast<nb::bytes>(given["charsmap"]);
  parts.charsmap.assign(charsmap.c_str(), charsmap.size());
  const auto id = [&](const char* name) -> std::optional<uint32_t> {
    if (nb::object(given[name]).is_none()) return std::nullopt;
    return static_cast<uint32_t>(size_from(given[name], name));
  };
  parts.unknown = id("unk_id");
  parts.bos = id("bos_id");
  parts.eos = id("eos_id");
  parts.separator = id("sep_id");
  parts.cls = id("cls_id");
  parts.add_bos = nb::cast<bool>(given["add_bos"]);
  parts.add_eos = nb::cast<bool>(given["add_eos"]);
  parts.add_space_prefix = nb::cast<bool>(given["add_space_prefix"]);
  return computed([&] { return Tokenizer::from_parts(parts); });
}

void bind_tokenizer_class(nb::module_& module) {
  nb::class_<Tokenizer>(module, "_Tokenizer")
      .def_static(
          "load",
          [](const nb::bytes& path, bool lowercase) {
            const std::string file = path_from(path);
            return computed([&] { return Tokenizer::load(file, {.lowercase = lowercase}); });
          })
      .def_static(
          "parse",
          [](nb::handle json, bool keeps_scores) {
            const std::string_view text = text_from_python(json, "the text");
            return computed([&] { return Tokenizer::parse(text, {.keeps_scores = keeps_scores}); });
          })
      .def_static("from_parts", from_parts)
      .def("json",
           [](const Tokenizer& tokenizer, bool pretty) {
             return text_to_python(computed([&] { return tokenizer.json(pretty); }));
           })
      .def("save",
           [](const Tokenizer& tokenizer, const nb::bytes& path, bool pretty) {
             const std::string file = path_from(path);
             computed([&] { tokenizer.save(file, pretty); });
           })
      .def("encode", encode, nb::arg("text"), nb::arg("pair").none(), nb::arg("special"),
           nb::arg("split"), nb::arg("bytes"), nb::arg("key").none())
      .def("encode_batch", encode_batch, nb::arg("texts"), nb::arg("pairs").none(),
           nb::arg("special"), nb::arg("split"), nb::arg("bytes"), nb::arg("key").none())
      .def("decode", decode)
      .def("decode_batch", decode_batch)
      .def("decode_stream", &Tokenizer::decode_stream)
      .def("token_to_id", token_to_id)
      .def("id_to_token", id_to_token)
      .def("vocab", vocab)
      .def("vocab_size", &Tokenizer::vocab_size)
      .def("added_tokens", added_tokens)
      .def("special_token_count", &Tokenizer::special_token_count)
      .def("truncation", truncation_of)
      .def("padding", padding_of)
      .def("with_truncation", with_truncation)
      .def("without_truncation",
           [](const Tokenizer& tokenizer) { return tokenizer.with_truncation(std::nullopt); })
      .def("with_padding", with_padding, nb::arg("direction"), nb::arg("pad_id"),
           nb::arg("pad_type_id"), nb::arg("pad_token"), nb::arg("length").none(),
           nb::arg("pad_to_multiple_of").none())
      .def("without_padding",
           [](const Tokenizer& tokenizer) { return tokenizer.with_padding(std::nullopt); })
      .def("with_added_tokens",
           [](const Tokenizer& tokenizer, nb::handle tokens) {
             return tokenizer.with_added_tokens(added_tokens_from(tokens));
           })
      .def("with_encode_special_tokens", &Tokenizer::with_encode_special_tokens)
      .def("dropout", &Tokenizer::dropout)
      .def("with_dropout", &Tokenizer::with_dropout, nb::arg("probability").none());
}

// ---- Training.

void add_texts(text::Trainer& trainer, nb::handle texts) {
  TextInputs inputs;
  for (const nb::handle text : texts) inputs.add(text, nb::none(), false);
  std::vector<std::string_view> views;
  for (const text::TextInput& input : inputs.texts) views.push_back(input.text);
  computed([&] { trainer.add(views); });
}

Tokenizer train(const text::Trainer& trainer, nb::kwargs given) {
  text::TrainingOptions options;
  const auto is_given = [&](const char* name) {
    return given.contains(name) && !nb::object(given[name]).is_none();
  };
  options.vocab_size = size_from(given["vocab_size"], "vocab_size");
  options.min_frequency = size_from(given["min_frequency"], "min_frequency");
  options.special_tokens = added_tokens_from(given["special_tokens"]);
  options.initial_alphabet = text_from_python(given["initial_alphabet"], "the initial_alphabet");
  options.limit_alphabet = optional_size_from(given["limit_alphabet"], "limit_alphabet");
  options.max_token_length = optional_size_from(given["max_token_length"], "max_token_length");
  options.shrinking_factor = nb::cast<double>(given["shrinking_factor"]);
  options.sub_iterations = size_from(given["n_sub_iterations"], "n_sub_iterations");
  if (is_given("unk_token")) options.unknown = text_from_python(given["unk_token"], "unk_token");
  return computed([&] { return trainer.train(options); });
}

}  // namespace

void bind_text(nb::module_& module) {
  bind_encoding(module);
  bind_tokenizer_class(module);
  nb::class_<text::DecodeStream>(module, "_DecodeStream")
      .def("step", step)
      .def("finish", [](text::DecodeStream& stream) { return text_to_python(stream.finish()); });
  nb::class_<text::Trainer>(module, "_Trainer")
      .def(nb::init<Tokenizer>())
      .def("add", add_texts)
      .def("word_count", &text::Trainer::word_count)
      .def("train", train);
  module.def("_byte_level_alphabet", [] { return text_to_python(text::byte_level_alphabet()); });
}

}  // namespace plait::python
