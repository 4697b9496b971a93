#include "plait/text/inside/aligned_text.h"

#include <algorithm>

#include "plait/text/inside/code_points.h"

namespace plait::text {

Span AlignedText::origin(uint32_t at) const {
  if (!origins_.empty()) return origins_[at];
  uint32_t begin = at;
  while (begin > 0 && is_continuation(static_cast<unsigned char>(text_[begin]))) --begin;
  const auto size = static_cast<uint32_t>(utf8_size(static_cast<unsigned char>(text_[begin])));
  return {original_begin_ + begin, original_begin_ + begin + size};
}

Span AlignedText::original(Span part) const {
  if (part.begin >= part.end || part.end > size()) return part;
  return {origin(part.begin).begin, origin(part.end - 1).end};
}

void AlignedText::list_origins() {
  if (!origins_.empty() || text_.empty()) return;
  std::vector<Span> origins(text_.size());
  for (uint32_t at = 0; at < size();) {
    const Span character = origin(at);
    for (uint32_t i = 0; i < character.size(); ++i) origins[at + i] = character;
    at += character.size();
  }
  origins_ = std::move(origins);
}

void AlignedText::change(std::span<const ChangedCharacter> changes, uint32_t removed_before) {
  std::string next;
  std::vector<Span> origins;
  next.reserve(text_.size());
  origins.reserve(text_.size());
  uint32_t at = 0;
  const auto consume = [&](uint32_t characters) {
    for (; characters > 0 && at < size(); --characters) {
      at += static_cast<uint32_t>(utf8_size(static_cast<unsigned char>(text_[at])));
    }
  };
  consume(removed_before);
  for (const ChangedCharacter& each : changes) {
    const bool is_inserted = each.consumed == 0 || at == size();
    const Span from = !is_inserted ? origin(at)
                      : at > 0     ? origin(at - 1)
                                   : Span{original_begin_, original_begin_};
    append_utf8(next, each.c);
    origins.resize(next.size(), from);
    consume(each.consumed);
  }
  text_ = std::move(next);
  origins_ = std::move(origins);
}

void AlignedText::keep_only(Span part) {
  if (part == Span{0, size()}) return;
  text_ = text_.substr(part.begin, part.size());
  if (origins_.empty()) {
    original_begin_ += part.begin;
  } else {
    origins_.erase(origins_.begin() + part.end, origins_.end());
    origins_.erase(origins_.begin(), origins_.begin() + part.begin);
  }
}

void AlignedText::append(AlignedText other) {
  if (other.text_.empty()) return;
  if (text_.empty()) {
    *this = std::move(other);
    return;
  }
  const bool continues =
      is_in_place() && other.is_in_place() && original_begin_ + size() == other.original_begin_;
  if (!continues) {
    list_origins();
    other.list_origins();
    origins_.insert(origins_.end(), other.origins_.begin(), other.origins_.end());
  }
  text_ += other.text_;
}

Rewriter::Rewriter(const AlignedText& text) : text_(text) {
  out_.text_.reserve(text.text_.size() + text.text_.size() / 8);
  out_.origins_.reserve(out_.text_.capacity());
}

void Rewriter::write(std::string_view text, Span origin) {
  out_.text_ += text;
  out_.origins_.resize(out_.text_.size(), origin);
}

void Rewriter::keep(uint32_t bytes) {
  out_.text_.append(text_.text_, at_, bytes);
  if (!text_.origins_.empty()) {
    const auto first = text_.origins_.begin() + at_;
    out_.origins_.insert(out_.origins_.end(), first, first + bytes);
    at_ += bytes;
    return;
  }
  const uint32_t end = at_ + bytes;
  out_.origins_.resize(out_.text_.size());
  for (auto into = out_.origins_.end() - bytes; at_ < end;) {
    const bool is_single = is_ascii(static_cast<unsigned char>(text_.text_[at_]));
    const uint32_t place = text_.original_begin_ + at_;
    const Span character = is_single ? Span{place, place + 1} : text_.origin(at_);
    const uint32_t size = std::min(character.end - text_.original_begin_, end) - at_;
    into = std::fill_n(into, size, character);
    at_ += size;
  }
}

void Rewriter::replace(char32_t c) {
  std::string character;
  append_utf8(character, c);
  write(character, text_.origin(at_));
  at_ += static_cast<uint32_t>(utf8_size(static_cast<unsigned char>(text_.text_[at_])));
}

void Rewriter::insert(std::string_view text) {
  const Span nowhere{text_.original_begin_, text_.original_begin_};
  write(text, at_ > 0 ? text_.origin(at_ - 1) : nowhere);
}

void Rewriter::insert_as_next(std::string_view text) { write(text, text_.origin(at_)); }

}  // namespace plait::text
