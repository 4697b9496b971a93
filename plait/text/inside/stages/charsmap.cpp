// SentencePiece's compiled normalization: a prefix tree in a double array, and the texts that
// replace what it finds.
#include <array>

#include "plait/io/inside/utf8.h"
#include "plait/text/inside/code_points.h"
#include "plait/text/inside/files/base64.h"
#include "plait/text/inside/stages/normalizer.h"
#include "plait/text/inside/unicode.h"

namespace plait::text {
namespace {

// A unit of the double array (Darts-clone).
struct Unit {
  uint32_t bits;

  bool has_value() const { return (bits >> 8 & 1) != 0; }
  uint32_t value() const { return bits & ((uint32_t{1} << 31) - 1); }
  uint32_t label() const { return bits & (uint32_t{1} << 31 | 0xff); }
  uint32_t offset() const { return (bits >> 10) << ((bits & (1U << 9)) >> 6); }
};

class Charsmap : public Normalizer {
 public:
  // `bytes` are the size of the array in bytes, the array, and the texts, each with a 0 at its end.
  explicit Charsmap(std::string bytes) : bytes_(std::move(bytes)) {
    expect_unicode("Precompiled");
    const auto word = [&](size_t i) {
      uint32_t value = 0;
      for (size_t k = 0; k < 4; ++k) {
        value |= uint32_t{static_cast<unsigned char>(bytes_[4 * i + k])} << (8 * k);
      }
      return value;
    };
    if (bytes_.size() < 4) throw ParseError("byte {}: the charsmap ends too early", bytes_.size());
    const size_t units = word(0) / 4;
    if (units == 0 || units > bytes_.size() / 4 - 1) {
      throw ParseError("byte 0: an array of {} units, in {} bytes", units, bytes_.size());
    }
    units_.reserve(units);
    for (size_t i = 1; i <= units; ++i) units_.push_back({word(i)});
    texts_begin_ = 4 * (units + 1);
    const size_t valid = valid_utf8_bytes(texts());
    if (valid != texts().size()) {
      throw ParseError("byte {}: the texts are not UTF-8", texts_begin_ + valid);
    }
    for (unsigned char c = 0; c < 128; ++c) {
      const char byte = static_cast<char>(c);
      ascii_[c] = replacement({&byte, 1});
    }
  }

  void apply(AlignedText& text) const override {
    if (is_unchanged(text.text())) return;
    std::vector<ChangedCharacter> changes;
    changes.reserve(text.size());
    bool is_changed = false;
    const std::string_view all = text.text();
    for (size_t begin = 0; begin < all.size();) {
      const size_t end = cluster_end(all, begin);
      const bool was_changed = add_cluster(all.substr(begin, end - begin), changes);
      is_changed = is_changed || was_changed;
      begin = end;
    }
    if (is_changed) text.change(changes);
  }
  void write(JsonWriter& out) const override {
    out.begin_typed("Precompiled");
    out.member("precompiled_charsmap", to_base64(bytes_));
    out.end_object();
  }

 private:
  using Replacement = std::optional<std::string_view>;

  std::string_view texts() const { return std::string_view(bytes_).substr(texts_begin_); }

  // The text for the shortest key that the part begins with.
  Replacement replacement(std::string_view part) const {
    size_t at = units_[0].offset();
    for (const char c : part) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte == 0) return std::nullopt;
      at ^= byte;
      if (at >= units_.size() || units_[at].label() != byte) return std::nullopt;
      const Unit unit = units_[at];
      at ^= unit.offset();
      if (!unit.has_value()) continue;
      if (at >= units_.size()) return std::nullopt;
      return text_at(units_[at].value());
    }
    return std::nullopt;
  }
  Replacement text_at(size_t begin) const {
    if (begin > texts().size()) return std::nullopt;
    const std::string_view rest = texts().substr(begin);
    if (!rest.empty() && is_continuation(static_cast<unsigned char>(rest[0]))) return std::nullopt;
    return rest.substr(0, rest.find('\0'));
  }

  // Most text is: ASCII that no rule changes. \r\n is one cluster.
  bool is_unchanged(std::string_view text) const {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (!is_ascii(byte) || byte == '\r' || ascii_[byte]) return false;
    }
    return true;
  }

  static size_t cluster_end(std::string_view text, size_t begin) {
    int32_t state = 0;
    char32_t last = character_at(text, begin);
    size_t end = begin + utf8_size(last);
    while (end < text.size()) {
      const char32_t next = character_at(text, end);
      const bool are_plain = last < 128 && next < 128 && last != '\r';
      if (are_plain || is_cluster_boundary(last, next, state)) break;
      last = next;
      end += utf8_size(next);
    }
    return end;
  }

  // Short clusters are looked up as a whole, then each character. Returns whether one was found.
  bool add_cluster(std::string_view cluster, std::vector<ChangedCharacter>& changes) const {
    constexpr size_t kLongest = 5;
    if (cluster.size() <= kLongest) {
      if (const Replacement found = replacement(cluster)) {
        add_replacement(cluster, *found, changes);
        return true;
      }
    }
    bool is_found = false;
    for (size_t at = 0; at < cluster.size();) {
      const char32_t c = character_at(cluster, at);
      const std::string_view part = cluster.substr(at, utf8_size(c));
      const Replacement found = c < 128 ? ascii_[c] : replacement(part);
      if (found) {
        add_replacement(part, *found, changes);
        is_found = true;
      } else {
        changes.push_back({c, 1});
      }
      at += part.size();
    }
    return is_found;
  }

  // Characters replace each other in order. What is too many is inserted after them, or removed
  // after the last one: with an empty replacement, after what was written before.
  static void add_replacement(std::string_view part, std::string_view with,
                              std::vector<ChangedCharacter>& changes) {
    const size_t before = character_count(part), after = character_count(with);
    size_t number = 0;
    for (size_t at = 0; at < with.size(); ++number) {
      const char32_t c = character_at(with, at);
      changes.push_back({c, number < before ? 1U : 0U});
      at += utf8_size(c);
    }
    if (after < before && !changes.empty()) {
      changes.back().consumed += static_cast<uint32_t>(before - after);
    }
  }

  std::string bytes_;
  std::vector<Unit> units_;
  size_t texts_begin_ = 0;
  std::array<Replacement, 128> ascii_;  // views of bytes_
};

}  // namespace

NormalizerPointer read_charsmap(JsonFields& fields) {
  const auto bytes = from_base64(fields.string("precompiled_charsmap"));
  if (!bytes) fields.fail("precompiled_charsmap", "this is not base64");
  try {
    return std::make_shared<Charsmap>(*bytes);
  } catch (Error& error) {
    error.prepend(fields.place_of("precompiled_charsmap") + ": ");
    throw;
  }
}

}  // namespace plait::text
