#include "plait/text/inside/stages/added_tokens.h"

#include <algorithm>

#include "plait/text/inside/code_points.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

std::string normalized_content(const std::string& content, const Normalizer* normalizer) {
  if (normalizer == nullptr) return content;
  AlignedText text(content, 0);
  normalizer->apply(text);
  return std::string(text.text());
}

bool is_word_before(std::string_view text, uint32_t at) {
  return at > 0 && is_word(character_at(text, character_before(text, at)));
}
bool is_word_after(std::string_view text, uint32_t at) {
  return at < text.size() && is_word(character_at(text, at));
}

uint32_t without_spaces_before(std::string_view text, uint32_t at) {
  while (at > 0) {
    const size_t before = character_before(text, at);
    if (!is_white_space(character_at(text, before))) break;
    at = static_cast<uint32_t>(before);
  }
  return at;
}
uint32_t without_spaces_after(std::string_view text, uint32_t at) {
  while (at < text.size() && is_white_space(character_at(text, at))) {
    at += static_cast<uint32_t>(utf8_size(character_at(text, at)));
  }
  return at;
}

}  // namespace

void AddedTokens::add(const std::vector<AddedToken>& tokens, const Model& model,
                      const Normalizer* normalizer) {
  auto next_id = static_cast<uint32_t>(model.size());
  if (!tokens_.empty()) {
    const uint32_t greatest = tokens_.rbegin()->first;
    if (greatest >= next_id || next_id == 0) next_id = greatest + 1;
  }
  for (const AddedToken& token : tokens) {
    if (token.content.empty()) continue;
    expect_utf8(token.content, "an added token");
    if (token.single_word) expect_unicode("an added token that is a single word");
    std::optional<uint32_t> id = find(token.content);
    if (!id) id = model.vocabulary().find(token.content);
    if (!id) id = next_id++;
    if (*id > INT32_MAX) throw ValueError("the id {} of an added token is too large", *id);
    normalized_.erase(*id);
    if (token.normalized) {
      std::string normalized = normalized_content(token.content, normalizer);
      if (normalized != token.content) normalized_[*id] = std::move(normalized);
    }
    ids_[token.content] = *id;
    tokens_[*id] = token;
    filter_[*id % kFilterSize] = true;
  }
  set_up_searches();
}

// Tokens may have the same text: a special one is found, else the one with the least id.
void AddedTokens::set_up_searches() {
  std::array<std::vector<ByteTrie::Key>, 2> keys;
  searches_ = {};
  std::vector<std::pair<uint32_t, AddedToken>> by_rank(tokens_.rbegin(), tokens_.rend());
  std::ranges::stable_sort(by_rank, {}, [](const auto& each) { return each.second.special; });
  for (const auto& [id, token] : by_rank) {
    const std::string& text = *this->text(id);
    if (text.empty()) continue;
    const size_t kind = static_cast<size_t>(token.normalized ? Kind::normalized : Kind::as_written);
    keys[kind].emplace_back(text, id);
    searches_[kind].first_bytes[static_cast<unsigned char>(text[0])] = true;
    searches_[kind].is_empty = false;
  }
  for (size_t kind = 0; kind < 2; ++kind) searches_[kind].trie = ByteTrie(std::move(keys[kind]));
}

std::optional<uint32_t> AddedTokens::find(std::string_view content) const {
  if (ids_.empty()) return std::nullopt;
  const auto found = ids_.find(std::string(content));
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

const std::string* AddedTokens::text(uint32_t id) const {
  if (!filter_[id % kFilterSize]) return nullptr;
  if (const auto found = normalized_.find(id); found != normalized_.end()) return &found->second;
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? nullptr : &found->second.content;
}

bool AddedTokens::is_special(uint32_t id) const {
  const std::string* text = this->text(id);
  const auto other = text == nullptr ? std::nullopt : find(*text);
  return other && tokens_.at(*other).special;
}

// Nothing if it is only a part of a word. `done` is where the token before ends.
std::optional<Span> AddedTokens::extended(const AddedToken& token, std::string_view text,
                                          Span match, uint32_t done) const {
  if (token.single_word && (is_word_before(text, match.begin) || is_word_after(text, match.end))) {
    return std::nullopt;
  }
  if (token.lstrip) match.begin = std::max(without_spaces_before(text, match.begin), done);
  if (token.rstrip) match.end = without_spaces_after(text, match.end);
  return match;
}

std::vector<AddedTokens::Part> AddedTokens::divide(std::string_view text, Kind kind,
                                                   bool skips_special) const {
  const Search& search = searches_[static_cast<size_t>(kind)];
  const auto size = static_cast<uint32_t>(text.size());
  std::vector<Part> parts;
  uint32_t done = 0;
  for (uint32_t at = 0; at < size && !search.is_empty;) {
    Span match{at, at};
    uint32_t id = 0;
    if (search.first_bytes[static_cast<unsigned char>(text[at])]) {
      search.trie.for_each_prefix(text.substr(at), [&](size_t length, uint32_t found) {
        match.end = at + static_cast<uint32_t>(length);
        id = found;
      });
    }
    if (match.size() == 0) {
      ++at;
      continue;
    }
    at = match.end;
    const AddedToken& token = tokens_.at(id);
    if (skips_special && token.special) continue;
    const auto part = extended(token, text, match, done);
    if (!part) continue;
    if (done < part->begin) parts.push_back({{done, part->begin}});
    parts.push_back({*part, id});
    done = part->end;
  }
  if (done < size) parts.push_back({{done, size}});
  return parts;
}

void AddedTokens::write(JsonWriter& out) const {
  out.begin_list();
  for (const auto& [id, token] : tokens_) {
    out.begin_object();
    out.member("id", id);
    out.member("content", token.content);
    out.member("single_word", token.single_word);
    out.member("lstrip", token.lstrip);
    out.member("rstrip", token.rstrip);
    out.member("normalized", token.normalized);
    out.member("special", token.special);
    out.end_object();
  }
  out.end_list();
}

AddedToken read_added_token(JsonFields& fields) {
  AddedToken token;
  token.content = fields.string("content");
  token.single_word = fields.boolean("single_word");
  token.lstrip = fields.boolean("lstrip");
  token.rstrip = fields.boolean("rstrip");
  token.normalized = fields.boolean("normalized");
  token.special = fields.boolean("special");
  return token;
}

}  // namespace plait::text
