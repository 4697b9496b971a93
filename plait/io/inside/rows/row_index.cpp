#include "plait/io/inside/rows/row_index.h"

#include <algorithm>

namespace plait {
namespace {

constexpr int64_t kPlacesStride = 8;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

bool RowIndex::extend() {
  if (is_complete_) return false;
  const auto place = find_(position_);
  if (!place) {
    is_complete_ = true;
    return false;
  }
  if (found_ % kPlacesStride == 0) places_.push_back(place->begin);
  ++found_;
  position_ = place->next;
  return true;
}

int64_t RowIndex::count() {
  const std::lock_guard guard(mutex_);
  while (extend()) continue;
  return found_;
}

std::optional<size_t> RowIndex::place(int64_t i) {
  if (i < 0) return std::nullopt;
  size_t position = 0;
  {
    const std::lock_guard guard(mutex_);
    while (found_ <= i) {
      if (!extend()) return std::nullopt;
    }
    position = places_[static_cast<size_t>(i / kPlacesStride)];
  }
  std::optional<RowPlace> place;
  for (int64_t k = 0; k <= i % kPlacesStride; ++k) {
    place = find_(position);
    position = place->next;
  }
  return place->begin;
}

std::string_view line_at(std::string_view text, size_t position) {
  std::string_view line = text.substr(position, text.find('\n', position) - position);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::optional<RowPlace> find_line(std::string_view text, size_t position, bool skips_blank) {
  while (position < text.size()) {
    const size_t end = std::min(text.find('\n', position), text.size());
    const RowPlace place{position, end + 1};
    if (!skips_blank || !is_blank(text.substr(position, end - position))) return place;
    position = place.next;
  }
  return std::nullopt;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(kBlanks) == std::string_view::npos;
}

size_t line_number(std::string_view text, size_t position) {
  const std::string_view before = text.substr(0, position);
  return 1 + static_cast<size_t>(std::ranges::count(before, '\n'));
}

size_t mark_bytes(std::string_view text) {
  return text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

}  // namespace plait
