#include <algorithm>

#include "plait/text/inside/code_points.h"
#include "plait/text/inside/stages/normalizer.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

// Replaces characters by others of the same size. Returns where the first is that has another size.
size_t map_in_place(AlignedText& text, FunctionRef<char32_t(char32_t)> map) {
  const std::span<char> bytes = text.bytes();
  std::string next;
  size_t at = 0;
  while (at < bytes.size()) {
    const char32_t c = character_at(text.text(), at);
    const char32_t mapped = map(c);
    if (utf8_size(mapped) != utf8_size(c)) break;
    if (mapped != c) {
      next.clear();
      append_utf8(next, mapped);
      std::ranges::copy(next, bytes.begin() + static_cast<ptrdiff_t>(at));
    }
    at += utf8_size(c);
  }
  return at;
}

bool is_lowercase_ascii(AlignedText& text) {
  if (!is_all_ascii(text.text())) return false;
  for (char& byte : text.bytes()) {
    if (byte >= 'A' && byte <= 'Z') byte = static_cast<char>(byte + ('a' - 'A'));
  }
  return true;
}

}  // namespace

void map_characters(AlignedText& text, FunctionRef<char32_t(char32_t)> map) {
  const size_t done = map_in_place(text, map);
  if (done == text.size()) return;
  std::vector<ChangedCharacter> changes;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text.text(), at);
    changes.push_back({at < done ? c : map(c), 1});
    at += utf8_size(c);
  }
  text.change(changes);
}

void remove_characters(AlignedText& text, FunctionRef<bool(char32_t)> is_removed) {
  std::vector<ChangedCharacter> changes;
  uint32_t before = 0;
  bool removes = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text.text(), at);
    at += utf8_size(c);
    if (!is_removed(c)) {
      changes.push_back({c, 1});
      continue;
    }
    removes = true;
    uint32_t& count = changes.empty() ? before : changes.back().consumed;
    ++count;
  }
  if (removes) text.change(changes, before);
}

void make_lowercase(AlignedText& text) {
  if (is_lowercase_ascii(text)) return;
  bool is_longer = false;
  std::vector<ChangedCharacter> changes;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text.text(), at);
    const Lowercase lower = lowercase_of(c);
    changes.push_back({lower.first, 1});
    if (lower.second != 0) changes.push_back({lower.second, 0});
    is_longer = is_longer || lower.second != 0 || utf8_size(lower.first) != utf8_size(c);
    at += utf8_size(c);
  }
  if (is_longer) {
    text.change(changes);
  } else {
    map_in_place(text, [](char32_t c) { return lowercase_of(c).first; });
  }
}

}  // namespace plait::text
