#include "plait/text/inside/vocabulary.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait::text {

void Vocabulary::reserve(size_t tokens, size_t bytes) {
  tokens_.reserve(tokens);
  characters_.reserve(bytes);
  while (slots_.size() < 2 * tokens) grow();
}

size_t Vocabulary::slot_of(std::string_view text, uint64_t hash) const {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot] != kNowhere && text_of(tokens_[slots_[slot]]) != text) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::optional<uint32_t> Vocabulary::find_hashed(std::string_view text, uint64_t hash) const {
  if (slots_.empty()) return std::nullopt;
  const uint32_t place = slots_[slot_of(text, hash)];
  return place == kNowhere ? std::nullopt : std::optional(tokens_[place].id);
}

void Vocabulary::grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 2), kNowhere);
  for (uint32_t place = 0; place < tokens_.size(); ++place) {
    const std::string_view text = text_of(tokens_[place]);
    uint32_t& slot = slots_[slot_of(text, text_hash(text))];
    if (slot == kNowhere) slot = place;
  }
}

void Vocabulary::add(std::string_view text, uint32_t id) {
  if (tokens_.size() >= kNowhere - 1) throw ValueError("a vocabulary has more than 2^32 tokens");
  if (2 * (tokens_.size() + 1) > slots_.size()) grow();
  const auto place = static_cast<uint32_t>(tokens_.size());
  tokens_.push_back({characters_.size(), static_cast<uint32_t>(text.size()), id});
  characters_ += text;
  uint32_t& slot = slots_[slot_of(text, text_hash(text))];
  if (slot == kNowhere) {
    slot = place;
    ++distinct_;
  } else {
    tokens_[slot].id = id;
  }
  set_place(id, place);
}

// An absurd id must not take memory in proportion to it.
void Vocabulary::set_place(uint32_t id, uint32_t place) {
  constexpr size_t kSlack = 1 << 20;
  if (id < places_.size()) {
    places_[id] = place;
  } else if (id < 4 * tokens_.size() + kSlack) {
    places_.resize(std::max<size_t>(id + 1, std::min<size_t>(places_.size() * 2, id + 1)),
                   kNowhere);
    places_[id] = place;
  } else {
    other_places_[id] = place;
  }
}

uint32_t Vocabulary::place_of(uint32_t id) const {
  if (id < places_.size() && places_[id] != kNowhere) return places_[id];
  if (other_places_.empty()) return kNowhere;
  const auto found = other_places_.find(id);
  return found == other_places_.end() ? kNowhere : found->second;
}

std::vector<Vocabulary::Entry> Vocabulary::entries() const {
  std::vector<uint32_t> places;
  places.reserve(distinct_);
  std::ranges::copy_if(slots_, std::back_inserter(places),
                       [](uint32_t p) { return p != kNowhere; });
  std::ranges::sort(places, {},
                    [&](uint32_t place) { return std::pair(tokens_[place].id, place); });
  std::vector<Entry> result;
  result.reserve(distinct_);
  for (const uint32_t place : places) {
    result.push_back({tokens_[place].id, text_of(tokens_[place])});
  }
  return result;
}

}  // namespace plait::text
