#include "plait/text/inside/models/bpe.h"

#include <algorithm>

#include "plait/core/text.h"
#include "plait/text/inside/byte_alphabet.h"
#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

constexpr std::string_view kSpaceMark = "\xe2\x96\x81";  // "▁", U+2581
constexpr char32_t kWideSymbols = 0x10000;
constexpr size_t kFew = 40;  // symbols; more are merged with a heap

// True if "▁" follows another character.
bool has_inner_space_mark(std::string_view text) {
  for (size_t at = text.find(kSpaceMark, 1); at != std::string_view::npos;
       at = text.find(kSpaceMark, at + 1)) {
    const bool follows_another = at < 3 || text.substr(at - 3, 3) != kSpaceMark;
    if (follows_another) return true;
  }
  return false;
}

}  // namespace

Bpe::Bpe(Vocabulary vocabulary, const BpeMerges& merges, BpeOptions options)
    : Model(std::move(vocabulary)), options_(std::move(options)), table_(merges.size()) {
  const auto id_of = [&](const std::string& token, size_t place) {
    const auto id = this->vocabulary().find(token);
    if (!id) {
      throw ParseError("model.merges[{}]: the token {} is not in the vocabulary", place,
                       in_quotes(token));
    }
    return *id;
  };
  const std::string prefix = options_.prefix.value_or("");
  merges_.reserve(merges.size());
  for (size_t place = 0; place < merges.size(); ++place) {
    const auto& [left, right, rank] = merges[place];
    if (right.size() < prefix.size()) {
      throw ParseError("model.merges[{}]: {} is shorter than the prefix", place, in_quotes(right));
    }
    const uint32_t left_id = id_of(left, place), right_id = id_of(right, place);
    const uint32_t id = id_of(left + right.substr(prefix.size()), place);
    table_.add(left_id, right_id, {rank, id});
    merges_.push_back({left_id, right_id, rank});
  }
  set_up_symbols();
  set_up_parts();
}

void Bpe::set_up_symbols() {
  has_plain_symbols_ = options_.prefix.value_or("").empty() && options_.suffix.value_or("").empty();
  for (unsigned char c = 0; c < 128; ++c) {
    const char symbol = static_cast<char>(c);
    ascii_symbols_[c] = vocabulary().find({&symbol, 1});
  }
  for (size_t byte = 0; byte < 256; ++byte) {
    byte_tokens_[byte] = vocabulary().find(fmt::format("<0x{:02X}>", byte));
  }
  for (const auto& [id, text] : vocabulary().entries()) {
    if (text.size() < 2 || text.size() != utf8_size(static_cast<unsigned char>(text[0]))) continue;
    const char32_t c = character_at(text, 0);
    if (c >= kWideSymbols) continue;
    if (c >= wide_symbols_.size()) wide_symbols_.resize(c + 1, kNoSymbol);
    wide_symbols_[c] = id;
  }
}

// The token of a character.
std::optional<uint32_t> Bpe::symbol_of(std::string_view character) const {
  const char32_t c = character_at(character, 0);
  if (c < ascii_symbols_.size()) return ascii_symbols_[c];
  if (c >= kWideSymbols) return vocabulary().find(character);
  if (c >= wide_symbols_.size() || wide_symbols_[c] == kNoSymbol) return std::nullopt;
  return wide_symbols_[c];
}

// A word may be split before each "▁" that follows another character if no merge makes a token that
// reaches over such a place.
void Bpe::set_up_parts() {
  is_split_at_spaces_ = has_plain_symbols_ && vocabulary().find(kSpaceMark).has_value();
  const auto text = [&](uint32_t id) { return vocabulary().text(id); };
  for (size_t i = 0; is_split_at_spaces_ && i < merges_.size(); ++i) {
    const auto [left, right, rank] = merges_[i];
    const std::string merged = std::string(text(left)) + std::string(text(right));
    is_split_at_spaces_ = !has_inner_space_mark(merged);
  }
}

ModelPointer Bpe::of_bytes() const {
  if (!has_plain_symbols_) return nullptr;
  auto model = std::make_shared<Bpe>(*this);
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string symbol;
    append_utf8(symbol, character_of_byte(static_cast<uint8_t>(byte)));
    const auto id = vocabulary().find(symbol);
    if (!id) return nullptr;
    model->byte_symbols_[byte] = *id;
  }
  model->is_of_bytes_ = true;
  model->wide_symbols_.clear();
  model->is_split_at_spaces_ = false;
  if (options_.ignores_merges) {
    for (const auto& [id, text] : vocabulary().entries()) {
      std::string bytes;
      if (append_bytes_of_characters(bytes, text)) model->byte_words_.add(bytes, id);
    }
  }
  return model;
}

ModelPointer Bpe::with_dropout(std::optional<float> dropout) const {
  auto model = std::make_shared<Bpe>(*this);
  model->options_.dropout = dropout;
  return model;
}

void Bpe::tokenize(std::string_view word, ModelMemory& memory, std::vector<ModelToken>& out) const {
  if (has_draws()) {
    tokenize_new(word, memory, out);
    return;
  }
  if (options_.ignores_merges) {
    const Vocabulary& words = is_of_bytes_ ? byte_words_ : vocabulary();
    if (const auto id = words.find(word)) {
      out.push_back({*id, 0, static_cast<uint32_t>(word.size())});
      return;
    }
  }
  const size_t before = out.size();
  size_t begin = 0;
  uint32_t position = 0;  // characters without a token have no place among those of tokens
  while (begin < word.size()) {
    size_t end = word.size();
    if (is_split_at_spaces_) {
      size_t inside = begin;
      while (word.substr(inside).starts_with(kSpaceMark)) inside += kSpaceMark.size();
      end = std::min(end, word.find(kSpaceMark, std::max(inside, begin + 1)));
    }
    tokenize_part(word.substr(begin, end - begin), position, memory, out);
    if (out.size() > before) position = out.back().end;
    begin = end;
  }
}

void Bpe::tokenize_part(std::string_view part, uint32_t begin, ModelMemory& memory,
                        std::vector<ModelToken>& out) const {
  const size_t first = out.size();
  const bool is_cached = part.size() < WordCache::kLongestWord;
  const uint64_t hash = is_cached ? text_hash(part) : 0;
  if (!is_cached || !memory.cache.find(part, hash, out)) {
    tokenize_new(part, memory, out);
    if (is_cached) memory.cache.insert(part, hash, std::span(out).subspan(first));
  }
  if (begin == 0) return;
  for (size_t i = first; i < out.size(); ++i) {
    out[i].begin += begin;
    out[i].end += begin;
  }
}

// Without the cache.
void Bpe::tokenize_new(std::string_view part, ModelMemory& memory,
                       std::vector<ModelToken>& out) const {
  std::vector<BpeSymbol>& symbols = memory.symbols;
  symbols.clear();
  add_symbols(part, symbols);
  if (symbols.size() <= kFew && !has_draws()) {
    merge_few(symbols);
  } else {
    merge_many(memory);
  }
  uint32_t at = 0;
  for (const BpeSymbol& symbol : symbols) {
    if (symbol.size == 0) continue;
    out.push_back({symbol.id, at, at + symbol.size});
    at += symbol.size;
  }
}

// Collects the symbols of a word.
class Bpe::SymbolReader {
 public:
  SymbolReader(const BpeOptions& options, const Vocabulary& vocabulary,
               const std::array<std::optional<uint32_t>, 256>& byte_tokens,
               std::vector<BpeSymbol>& symbols)
      : options_(options), vocabulary_(vocabulary), byte_tokens_(byte_tokens), symbols_(symbols) {}

  void add(uint32_t id, uint32_t size) { symbols_.push_back({id, size, 0, 0}); }

  void add_known(uint32_t id, uint32_t size) {
    finish();
    add(id, size);
  }
  // `symbol` is the character, maybe with the prefix and the suffix; `size` is that of the
  // character.
  void add_unknown(std::string_view symbol, uint32_t size) {
    if (options_.has_byte_tokens && add_bytes(symbol)) return;
    if (!options_.unknown) return;
    if (unknown_size_ > 0 && !options_.fuses_unknown) finish();
    unknown_size_ += size;
  }
  void finish() {
    if (unknown_size_ == 0) return;
    const auto id = vocabulary_.find(*options_.unknown);
    if (!id) {
      throw ValueError("the unknown token {} is not in the vocabulary",
                       in_quotes(*options_.unknown));
    }
    add(*id, std::exchange(unknown_size_, 0));
  }

 private:
  bool add_bytes(std::string_view symbol) {
    for (const char byte : symbol) {
      if (!byte_tokens_[static_cast<unsigned char>(byte)]) return false;
    }
    for (const char byte : symbol) add(*byte_tokens_[static_cast<unsigned char>(byte)], 1);
    return true;
  }

  const BpeOptions& options_;
  const Vocabulary& vocabulary_;
  const std::array<std::optional<uint32_t>, 256>& byte_tokens_;
  std::vector<BpeSymbol>& symbols_;
  uint32_t unknown_size_ = 0;
};

void Bpe::add_symbols(std::string_view part, std::vector<BpeSymbol>& symbols) const {
  SymbolReader reader(options_, vocabulary(), byte_tokens_, symbols);
  if (is_of_bytes_) {
    for (const char byte : part) reader.add(byte_symbols_[static_cast<unsigned char>(byte)], 1);
    return;
  }
  std::string decorated;
  for (size_t at = 0; at < part.size();) {
    const auto first = static_cast<unsigned char>(part[at]);
    const size_t size = utf8_size(first);
    std::string_view symbol = part.substr(at, size);
    std::optional<uint32_t> id;
    if (has_plain_symbols_) {
      id = symbol_of(symbol);
    } else {
      decorated = at == 0 ? "" : options_.prefix.value_or("");
      decorated += symbol;
      if (at + size == part.size()) decorated += options_.suffix.value_or("");
      symbol = decorated;
      id = vocabulary().find(symbol);
    }
    if (id) {
      reader.add_known(*id, static_cast<uint32_t>(size));
    } else {
      reader.add_unknown(symbol, static_cast<uint32_t>(size));
    }
    at += size;
  }
  reader.finish();
}

// Looks through all pairs for each merge: fastest for a few.
void Bpe::merge_few(std::vector<BpeSymbol>& symbols) const {
  std::array<MergeTable::Merge, kFew> merges;  // merges of each symbol with the next one
  size_t count = symbols.size();
  const auto look_up = [&](size_t i) { return table_.find(symbols[i].id, symbols[i + 1].id); };
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == MergeTable::kNever) break;
    symbols[best].id = merges[best].id;
    symbols[best].size += symbols[best + 1].size;
    for (size_t i = best + 1; i + 1 < count; ++i) symbols[i] = symbols[i + 1];
    for (size_t i = best + 1; i + 2 < count; ++i) merges[i] = merges[i + 1];
    --count;
    if (best + 1 < count) merges[best] = look_up(best);
    if (best > 0) merges[best - 1] = look_up(best - 1);
  }
  symbols.resize(count);
}

// Keeps candidates in a heap. One is outdated if its symbols have been merged with others. With
// dropout, each that is taken is left out at random; the next one that is not, brings those back.
void Bpe::merge_many(ModelMemory& memory) const {
  std::vector<BpeSymbol>& symbols = memory.symbols;
  std::vector<BpeCandidate>& candidates = memory.candidates;
  std::vector<BpeCandidate>& left_out = memory.left_out;
  const auto is_later = [](const BpeCandidate& a, const BpeCandidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.position > b.position;
  };
  const auto add = [&](int32_t left, int32_t right) {
    if (left < 0 || right < 0) return false;
    const auto merge =
        table_.find(symbols[static_cast<size_t>(left)].id, symbols[static_cast<size_t>(right)].id);
    if (merge.rank == MergeTable::kNever) return false;
    candidates.push_back({merge.rank, static_cast<uint32_t>(left), merge.id});
    return true;
  };
  const auto push = [&](int32_t left, int32_t right) {
    if (add(left, right)) std::ranges::push_heap(candidates, is_later);
  };
  candidates.clear();
  left_out.clear();
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[static_cast<size_t>(i)].before = i - 1;
    symbols[static_cast<size_t>(i)].after = i + 1 < count ? i + 1 : -1;
    if (i + 1 < count) add(i, i + 1);
  }
  std::ranges::make_heap(candidates, is_later);
  while (!candidates.empty()) {
    std::ranges::pop_heap(candidates, is_later);
    const BpeCandidate best = candidates.back();
    candidates.pop_back();
    if (has_draws()) {
      if (memory.draws->chance(*options_.dropout)) {
        left_out.push_back(best);
        continue;
      }
      for (const BpeCandidate& each : left_out) {
        candidates.push_back(each);
        std::ranges::push_heap(candidates, is_later);
      }
      left_out.clear();
    }
    BpeSymbol& left = symbols[best.position];
    if (left.size == 0 || left.after < 0) continue;
    BpeSymbol& right = symbols[static_cast<size_t>(left.after)];
    const auto merge = table_.find(left.id, right.id);
    if (merge.rank == MergeTable::kNever || merge.id != best.id) continue;
    left.id = best.id;
    left.size += right.size;
    left.after = right.after;
    right.size = 0;
    const auto position = static_cast<int32_t>(best.position);
    if (left.after >= 0) symbols[static_cast<size_t>(left.after)].before = position;
    push(left.before, position);
    push(position, left.after);
  }
}

}  // namespace plait::text
