#include "plait/text/encoding.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/text/inside/stages/encoding_changes.h"

namespace plait::text {

std::string Encoding::token(size_t index) const {
  if (index >= size()) throw IndexError("token {} of {} tokens", index, size());
  return std::string(token_view(*this, index));
}

std::vector<std::string> Encoding::tokens() const {
  std::vector<std::string> result;
  result.reserve(size());
  for (size_t i = 0; i < size(); ++i) result.push_back(token(i));
  return result;
}

size_t Encoding::sequence_count() const { return sequences.empty() ? 1 : sequences.size(); }

Encoding::Sequence Encoding::sequence(size_t number) const {
  for (const Sequence& each : sequences) {
    if (each.number == number) return each;
  }
  return {static_cast<uint32_t>(number), {0, static_cast<uint32_t>(size())}};
}

std::vector<int32_t> Encoding::sequence_ids() const {
  std::vector<int32_t> result(size(), -1);
  for (size_t number = 0; number < sequence_count(); ++number) {
    const auto [begin, end] = sequence(number).tokens;
    std::fill(result.begin() + begin, result.begin() + end, static_cast<int32_t>(number));
  }
  return result;
}

std::optional<size_t> Encoding::char_to_token(size_t position, size_t number) const {
  const auto [begin, end] = sequence(number).tokens;
  for (size_t i = begin; i < end; ++i) {
    if (position >= offsets[i].first && position < offsets[i].second) return i;
  }
  return std::nullopt;
}

std::optional<Encoding::Offsets> Encoding::word_to_tokens(uint32_t word, size_t number) const {
  const auto [begin, end] = sequence(number).tokens;
  std::optional<Offsets> found;
  for (uint32_t i = begin; i < end; ++i) {
    if (words[i] != word) continue;
    if (!found) found = {i, i};
    found->second = i + 1;
  }
  return found;
}

}  // namespace plait::text
