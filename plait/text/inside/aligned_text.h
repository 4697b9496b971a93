// A text on its way through normalizers and pre-tokenizers, which knows for each byte which part of
// the original text it comes from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plait::text {

// A range of bytes: of the original text where it says where a byte comes from.
struct Span {
  uint32_t begin = 0, end = 0;

  uint32_t size() const { return end - begin; }
  friend bool operator==(const Span&, const Span&) = default;
};

// A character of a changed text. Changes are in the order of the text: `consumed` is 0 for an
// inserted character, else 1 plus the number of characters that are removed after the one that this
// one replaces.
struct ChangedCharacter {
  char32_t c;
  uint32_t consumed;
};

class AlignedText {
 public:
  AlignedText() = default;
  // A part of an original text, which begins at `begin` there.
  AlignedText(std::string_view part, uint32_t begin) : text_(part), original_begin_(begin) {}

  std::string_view text() const { return text_; }
  std::string_view text(Span part) const { return text().substr(part.begin, part.size()); }
  uint32_t size() const { return static_cast<uint32_t>(text_.size()); }

  // The part of the original text that these bytes come from: from the beginning of the first
  // byte's part to the end of the last one's.
  Span original(Span part) const;
  // True while each byte is where it was, though characters may have been replaced by others of the
  // same size.
  bool is_in_place() const { return origins_.empty(); }

  // The bytes, to be replaced by characters of the same size.
  std::span<char> bytes() { return text_; }

  // Replaces all of the text by these characters. The first `removed_before` are removed before.
  void change(std::span<const ChangedCharacter> changes, uint32_t removed_before = 0);
  void keep_only(Span part);
  // Appends a later part of the same original text.
  void append(AlignedText other);

 private:
  friend class Rewriter;

  Span origin(uint32_t at) const;
  void list_origins();

  std::string text_;
  uint32_t original_begin_ = 0;
  std::vector<Span> origins_;  // origins of each byte; empty while in place
};

// Writes a changed copy of a text: parts of it in any order, with characters replaced, inserted and
// removed.
class Rewriter {
 public:
  explicit Rewriter(const AlignedText& text);

  void seek(uint32_t position) { at_ = position; }
  uint32_t position() const { return at_; }
  uint32_t written() const { return static_cast<uint32_t>(out_.text_.size()); }

  void keep(uint32_t bytes);
  void remove(uint32_t bytes) { at_ += bytes; }
  void replace(char32_t c);  // the character at the position
  // Inserts what comes from where the byte before the position comes from.
  void insert(std::string_view text);
  // Inserts what comes from where the character at the position comes from.
  void insert_as_next(std::string_view text);

  AlignedText finish() { return std::move(out_); }

 private:
  void write(std::string_view text, Span origin);

  const AlignedText& text_;
  AlignedText out_;
  uint32_t at_ = 0;
};

}  // namespace plait::text
