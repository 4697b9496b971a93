#include "plait/text/inside/files/split_families.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::text {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekWords =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

SplitFamily split_family(const std::string& name) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_one_of({"gpt-2", "phi-2", "mpt", "olmo", "roberta-bpe", "jina-es", "jina-de"})) {
    return {{kGpt2}};
  }
  if (is_one_of({"llama3", "llama-v3", "llama-bpe"})) return {{kLlama3}, true};
  if (is_one_of({"qwen2", "deepseek-r1-qwen", "megrez"})) return {{kQwen2}};
  if (is_one_of({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone"})) {
    return {{R"(\p{N})", kGpt2}};
  }
  if (is_one_of({"gpt-4o", "llama4"})) return {{kGpt4o}};
  if (is_one_of({"deepseek-v3"})) {
    return {{R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)", kDeepSeekWords}};
  }
  throw ParseError("the pre-tokenizer {} is not supported", in_quotes(name));
}

}  // namespace plait::text
