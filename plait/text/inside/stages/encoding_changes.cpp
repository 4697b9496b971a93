#include "plait/text/inside/stages/encoding_changes.h"

#include <algorithm>

namespace plait::text {
namespace {

// Calls each(vector, other's vector) for each vector of both; names only if one of them has some.
template <class Each>
void for_each_column(Encoding& a, const Encoding& b, Each each) {
  each(a.ids, b.ids);
  each(a.type_ids, b.type_ids);
  each(a.offsets, b.offsets);
  each(a.words, b.words);
  each(a.special_tokens_mask, b.special_tokens_mask);
  each(a.attention_mask, b.attention_mask);
}

// The names of all tokens, of which those without one are their ids.
std::vector<uint32_t> names_of(const Encoding& encoding) {
  return encoding.token_names.empty() ? encoding.ids : encoding.token_names;
}

Encoding slice(const Encoding& from, size_t begin, size_t end) {
  Encoding result;
  for_each_column(result, from, [&](auto& into, const auto& column) {
    into.assign(column.begin() + static_cast<ptrdiff_t>(begin),
                column.begin() + static_cast<ptrdiff_t>(end));
  });
  if (!from.token_names.empty()) {
    result.token_names.assign(from.token_names.begin() + static_cast<ptrdiff_t>(begin),
                              from.token_names.begin() + static_cast<ptrdiff_t>(end));
  }
  result.texts = from.texts;
  return result;
}

// Where the pieces of a truncated encoding are.
std::vector<std::pair<size_t, size_t>> pieces_of(size_t size, size_t length, size_t stride,
                                                 Side direction) {
  std::vector<std::pair<size_t, size_t>> pieces;
  const size_t step = length - stride;
  for (size_t done = 0; done < size; done += step) {
    if (direction == Side::right) {
      pieces.emplace_back(done, std::min(done + length, size));
      if (pieces.back().second == size) break;
    } else {
      const size_t end = size - done;
      pieces.emplace_back(end > length ? end - length : 0, end);
      if (pieces.back().first == 0) break;
    }
  }
  return pieces;
}

// The tokens only, without what overflows.
void append_tokens(Encoding& encoding, const Encoding& other) {
  const auto before = static_cast<uint32_t>(encoding.size());
  if (!encoding.token_names.empty() || !other.token_names.empty()) {
    std::vector<uint32_t> names = names_of(encoding);
    const std::vector<uint32_t> more = names_of(other);
    names.insert(names.end(), more.begin(), more.end());
    encoding.token_names = std::move(names);
  }
  for (Encoding::Sequence sequence : other.sequences) {
    sequence.tokens.first += before;
    sequence.tokens.second += before;
    std::erase_if(encoding.sequences,
                  [&](const auto& each) { return each.number == sequence.number; });
    encoding.sequences.push_back(sequence);
  }
  for_each_column(encoding, other, [](auto& into, const auto& column) {
    into.insert(into.end(), column.begin(), column.end());
  });
  if (!encoding.texts) encoding.texts = other.texts;
}

Encoding joined(Encoding first, const Encoding& second) {
  append(first, second);
  return first;
}

}  // namespace

void reserve_tokens(Encoding& encoding, size_t count) {
  for_each_column(encoding, encoding, [&](auto& column, const auto&) { column.reserve(count); });
}

void append_token(Encoding& encoding, uint32_t id, Encoding::Offsets offsets, uint32_t word,
                  uint32_t type_id) {
  if (!encoding.token_names.empty()) encoding.token_names.push_back(id);
  encoding.ids.push_back(id);
  encoding.type_ids.push_back(type_id);
  encoding.offsets.push_back(offsets);
  encoding.words.push_back(word);
  encoding.special_tokens_mask.push_back(0);
  encoding.attention_mask.push_back(1);
}

void name_last_token(Encoding& encoding, uint32_t name) {
  if (name == encoding.ids.back()) return;
  if (encoding.token_names.empty()) encoding.token_names = encoding.ids;
  encoding.token_names.back() = name;
}

void append_special(Encoding& encoding, const SpecialToken& token, uint32_t type_id,
                    TokenTexts& texts) {
  append_token(encoding, token.id, {0, 0}, Encoding::kNoWord, type_id);
  encoding.special_tokens_mask.back() = 1;
  name_last_token(encoding, texts.name(token.id, token.text));
}

std::string_view token_view(const Encoding& encoding, size_t index) {
  if (!encoding.texts) return {};
  return encoding.token_names.empty() ? encoding.texts->of_id(encoding.ids[index])
                                      : encoding.texts->of_name(encoding.token_names[index]);
}

void set_type_ids(Encoding& encoding, uint32_t type_id) {
  encoding.type_ids.assign(encoding.size(), type_id);
}

void set_sequence(Encoding& encoding, uint32_t number) {
  std::erase_if(encoding.sequences, [&](const auto& each) { return each.number == number; });
  encoding.sequences.push_back({number, {0, static_cast<uint32_t>(encoding.size())}});
}

void append(Encoding& encoding, const Encoding& other) {
  std::vector<Encoding> overflowing;
  for (const Encoding& each : encoding.overflowing) {
    overflowing.push_back(joined(each, other));
    for (const Encoding& more : other.overflowing) overflowing.push_back(joined(each, more));
  }
  for (const Encoding& more : other.overflowing) overflowing.push_back(joined(encoding, more));
  append_tokens(encoding, other);
  encoding.overflowing = std::move(overflowing);
}

void truncate(Encoding& encoding, size_t length, size_t stride, Side direction) {
  if (length >= encoding.size()) return;
  if (length == 0) {
    Encoding empty;
    empty.texts = encoding.texts;
    empty.overflowing.push_back(std::move(encoding));
    encoding = std::move(empty);
    return;
  }
  Encoding result;
  bool is_first = true;
  for (const auto& [begin, end] : pieces_of(encoding.size(), length, stride, direction)) {
    Encoding piece = slice(encoding, begin, end);
    if (is_first) {
      result = std::move(piece);
    } else {
      result.overflowing.push_back(std::move(piece));
    }
    is_first = false;
  }
  encoding = std::move(result);
}

void pad(Encoding& encoding, size_t length, const PadWith& with) {
  for (Encoding& each : encoding.overflowing) pad(each, length, with);
  if (encoding.size() >= length) return;
  const size_t count = length - encoding.size();
  const bool is_left = with.direction == Side::left;
  const auto add = [&](auto& column, auto value) {
    column.insert(is_left ? column.begin() : column.end(), count, value);
  };
  if (with.name != with.id && encoding.token_names.empty()) encoding.token_names = encoding.ids;
  if (with.name != with.id || !encoding.token_names.empty()) add(encoding.token_names, with.name);
  add(encoding.ids, with.id);
  add(encoding.type_ids, with.type_id);
  add(encoding.offsets, Encoding::Offsets{0, 0});
  add(encoding.words, Encoding::kNoWord);
  add(encoding.special_tokens_mask, 1U);
  add(encoding.attention_mask, 0U);
  if (!is_left) return;
  for (Encoding::Sequence& each : encoding.sequences) {
    each.tokens.first += static_cast<uint32_t>(count);
    each.tokens.second += static_cast<uint32_t>(count);
  }
}

}  // namespace plait::text
