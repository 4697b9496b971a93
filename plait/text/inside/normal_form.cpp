#include "plait/text/inside/normal_form.h"

#include <algorithm>
#include <optional>

#include "plait/text/inside/code_points.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

struct Decomposed {
  char32_t c;
  uint8_t combining_class;
  int32_t change;  // 0 for the first character of a decomposition, 1 for others
};

// The decomposition of a text, with combining characters in canonical order.
std::vector<Decomposed> decompose_all(std::string_view text, bool is_compatible) {
  std::vector<Decomposed> result;
  result.reserve(text.size());
  size_t unsorted = 0;
  const auto sort_pending = [&] {
    std::ranges::stable_sort(result.begin() + static_cast<ptrdiff_t>(unsorted), result.end(), {},
                             &Decomposed::combining_class);
  };
  std::vector<char32_t> parts;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = character_at(text, at);
    at += utf8_size(c);
    parts.clear();
    append_decomposition(parts, c, is_compatible);
    for (size_t i = 0; i < parts.size(); ++i) {
      const uint8_t combining = combining_class(parts[i]);
      if (combining == 0) {
        if (result.size() - unsorted > 1) sort_pending();
        unsorted = result.size() + 1;
      }
      result.push_back({parts[i], combining, i == 0 ? 0 : 1});
    }
  }
  if (result.size() > unsorted) sort_pending();
  return result;
}

// Composes characters with the last starter that nothing in between blocks, in place.
void compose_all(std::vector<Decomposed>& characters) {
  std::optional<size_t> starter;
  uint8_t last_class = 0;  // last class of what was kept after the starter
  size_t kept = 0;
  for (size_t i = 0; i < characters.size(); ++i) {
    const Decomposed next = characters[i];
    const bool is_adjacent = starter && kept == *starter + 1;
    if (starter && (is_adjacent || last_class < next.combining_class)) {
      if (const char32_t c = composed(characters[*starter].c, next.c); c != 0) {
        characters[*starter].c = c;
        characters[*starter].change += next.change - 1;
        continue;
      }
    }
    if (next.combining_class == 0) starter = kept;
    last_class = next.combining_class;
    characters[kept++] = next;
  }
  characters.resize(kept);
}

// The forms leave text below these characters as it is.
bool is_surely_normal(std::string_view text, NormalForm form) {
  const char32_t first_changed = form.is_composed && !form.is_compatible ? 0x300 : 0xa0;
  if (first_changed == 0xa0) return is_all_ascii(text);
  constexpr unsigned char kFirstByteOf0x300 = 0xcc;
  return std::ranges::all_of(
      text, [](char byte) { return static_cast<unsigned char>(byte) < kFirstByteOf0x300; });
}

}  // namespace

void normalize(AlignedText& text, NormalForm form) {
  if (is_surely_normal(text.text(), form)) return;
  std::vector<Decomposed> characters = decompose_all(text.text(), form.is_compatible);
  if (form.is_composed) compose_all(characters);
  std::vector<ChangedCharacter> changes;
  changes.reserve(characters.size());
  std::string result;
  for (const Decomposed& each : characters) {
    const int32_t consumed = each.change > 0 ? 0 : 1 - each.change;
    changes.push_back({each.c, static_cast<uint32_t>(consumed)});
    append_utf8(result, each.c);
  }
  if (result != text.text()) text.change(changes);
}

}  // namespace plait::text
