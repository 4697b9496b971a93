#include "plait/text/inside/files/gguf_tokenizer.h"

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::text {
namespace {

// Values of keys below "tokenizer.ggml.". Those that are needed are a ParseError if they are
// missing, and all are one if they have another type.
class TokenizerKeys {
 public:
  explicit TokenizerKeys(const Gguf& file) : file_(file) {}

  template <class T>
  const T* find(std::string_view name) const {
    const GgufValue* value = file_.find(key_of(name));
    if (value == nullptr) return nullptr;
    const T* found = std::get_if<T>(&value->value());
    if (found == nullptr) throw ParseError("{}: it has another type than expected", key_of(name));
    return found;
  }
  template <class T>
  const T& at(std::string_view name) const {
    const T* found = find<T>(name);
    if (found == nullptr)
      throw ParseError("{} is missing: the file has no tokenizer", key_of(name));
    return *found;
  }
  template <class T>
  T value_or(std::string_view name, const T& otherwise) const {
    const T* found = find<T>(name);
    return found == nullptr ? otherwise : *found;
  }
  std::optional<uint32_t> id(std::string_view name) const {
    const int64_t* value = find<int64_t>(name);
    if (value == nullptr || *value == UINT32_MAX) return std::nullopt;  // both say that it has none
    if (*value < 0 || *value > INT32_MAX) throw ParseError("{} is {}", key_of(name), *value);
    return static_cast<uint32_t>(*value);
  }
  // The numbers of a list as float; empty if there is none.
  std::vector<float> floats(std::string_view name) const {
    return numbers<float>(name, DType::f32);
  }
  std::vector<int32_t> integers(std::string_view name) const {
    return numbers<int32_t>(name, DType::i32);
  }
  std::string bytes(std::string_view name) const {
    const Array* list = find<Array>(name);
    if (list == nullptr) return {};
    if (list->dtype() == DType::u8) return text_of(list->elements<uint8_t>());
    if (list->dtype() == DType::i8) return text_of(list->elements<int8_t>());
    throw ParseError("{}: expected bytes", key_of(name));
  }

 private:
  template <class Byte>
  static std::string text_of(std::span<const Byte> bytes) {
    return {bytes.begin(), bytes.end()};
  }
  static std::string key_of(std::string_view name) {
    return fmt::format("tokenizer.ggml.{}", name);
  }

  template <class T>
  std::vector<T> numbers(std::string_view name, DType dtype) const {
    const Array* list = find<Array>(name);
    if (list == nullptr) return {};
    if (list->dtype() != dtype) {
      throw ParseError("{}: expected a list of {}", key_of(name), name_of(dtype));
    }
    const auto elements = list->elements<T>();
    return {elements.begin(), elements.end()};
  }

  const Gguf& file_;
};

VocabularyKind kind_of(const std::string& model) {
  if (model == "gpt2") return VocabularyKind::bpe;
  if (model == "llama" || model == "gemma4") return VocabularyKind::sentencepiece_bpe;
  if (model == "t5") return VocabularyKind::unigram;
  if (model == "bert") return VocabularyKind::word_piece;
  throw ParseError("tokenizer.ggml.model: {} is not supported", in_quotes(model))
      .hint("gpt2, llama, gemma4, t5 and bert are");
}

std::vector<TokenType> types_of(const std::vector<int32_t>& numbers) {
  std::vector<TokenType> types;
  types.reserve(numbers.size());
  for (const int32_t number : numbers) {
    if (number < 1 || number > 6) {
      throw ParseError("tokenizer.ggml.token_type[{}] is {}, expected 1 to 6", types.size(),
                       number);
    }
    types.push_back(static_cast<TokenType>(number));
  }
  return types;
}

}  // namespace

VocabularyParts vocabulary_parts_of(const Gguf& file) {
  const TokenizerKeys keys(file);
  VocabularyParts parts;
  const std::string& model = keys.at<std::string>("model");
  parts.kind = kind_of(model);
  parts.tokens = keys.at<GgufValue::Strings>("tokens");
  parts.scores = keys.floats("scores");
  parts.types = types_of(keys.integers("token_type"));
  const auto* merges = keys.find<GgufValue::Strings>("merges");
  if (merges != nullptr && model != "llama") parts.merges = *merges;
  parts.pre = keys.value_or<std::string>("pre", parts.pre);
  parts.charsmap = keys.bytes("precompiled_charsmap");
  parts.unknown = keys.id("unknown_token_id");
  parts.bos = keys.id("bos_token_id");
  parts.eos = keys.id("eos_token_id");
  parts.separator = keys.id("seperator_token_id");  // as GGUF spells it
  parts.cls = keys.id("cls_token_id");
  if (!parts.cls) parts.cls = parts.bos;  // newer files have no ids of their own for BERT's tokens
  if (!parts.separator) parts.separator = parts.eos;
  const bool is_llama = parts.kind == VocabularyKind::sentencepiece_bpe,
             is_gemma = model == "gemma4";
  const bool is_t5 = parts.kind == VocabularyKind::unigram;
  parts.add_bos = is_gemma || keys.value_or("add_bos_token", is_llama);  // some files say false
  parts.add_eos = keys.value_or("add_eos_token", is_t5);
  parts.add_space_prefix = keys.value_or("add_space_prefix", !is_gemma);
  return parts;
}

}  // namespace plait::text
