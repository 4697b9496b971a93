#include "plait/core/trees/tree_key.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "plait/core/hash.h"
#include "plait/core/text.h"

namespace plait {
namespace {

size_t child_count(const TreeType& type, uint64_t word) {
  switch (type.form) {
    case TreeForm::record: return type.fields.size();
    case TreeForm::tuple: return type.count;
    case TreeForm::sequence: return word;
    case TreeForm::map: return 2 * word;
    case TreeForm::optional: return word;
    case TreeForm::variant: return word < type.count ? 1 : 0;  // it may be valueless_by_exception
    case TreeForm::buffers: return 1;
    case TreeForm::leaf:
    case TreeForm::value:
    case TreeForm::text:
    case TreeForm::opaque: return 0;
  }
  return 0;
}

std::string plural(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

// ---- TreePath

size_t TreePath::push(std::string_view name) {
  const size_t length = text_.size();
  if (length != 0) text_ += '.';
  if (name.empty() || name.find_first_of(".\"\\") != std::string_view::npos) {
    text_ += in_quotes(name);
  } else {
    text_ += name;
  }
  return length;
}

size_t TreePath::push(size_t index) {
  const fmt::format_int digits(index);
  return push(std::string_view(digits.data(), digits.size()));
}

// ---- TreeKey

void TreeKeyBuilder::add(const StaticValue& value) {
  switch (value.type.form) {
    case TreeForm::text:
      add(value.type, value.text.size());
      key_.text_ += value.text;
      break;
    case TreeForm::opaque:
      add(value.type, value.word);
      key_.opaque_.push_back(value.keep(value.object));
      break;
    default: add(value.type, value.word);
  }
}

TreeKey TreeKeyBuilder::finish() && {
  uint64_t hash = hash_bytes(key_.text_);
  for (const TreeKey::Token& token : key_.tokens_) {
    const auto type = reinterpret_cast<uintptr_t>(token.type);
    const uint64_t both = std::rotl(uint64_t{type}, 32) ^ token.word;
    hash = (std::rotl(hash, 23) ^ both) * 0x9e3779b97f4a7c15;  // a short dependency chain
  }
  key_.hash_ = mix_bits(hash);
  return std::move(key_);
}

bool operator==(const TreeKey& a, const TreeKey& b) {
  return a.hash_ == b.hash_ && a.tokens_ == b.tokens_ && a.text_ == b.text_ &&
         std::equal(a.opaque_.begin(), a.opaque_.end(), b.opaque_.begin(), b.opaque_.end(),
                    [](const auto& x, const auto& y) { return x == y || x->equals(*y); });
}

// Iterates over the tokens of a key and tracks the path of each.
class TreeKeyReader {
 public:
  explicit TreeKeyReader(const TreeKey& key) : key_(key) { enter(); }

  const TreeKey::Token& token() const { return key_.tokens_[position_]; }
  bool done() const { return position_ == key_.tokens_.size(); }

  // Moves to the next token.
  void advance();
  // True if two readers, which have read equal tokens so far, are at equal tokens.
  bool same_as(const TreeKeyReader& other) const;
  std::string path() const;
  bool at_map_key() const {
    return !parents_.empty() && parents_.back().type->form == TreeForm::map &&
           parents_.back().child % 2 == 0;
  }
  std::string text() const;

 private:
  struct Parent {
    const TreeType* type;
    size_t child, count;
    std::string key;  // key of the map entry
  };

  void enter();
  std::string_view characters() const {
    return std::string_view(key_.text_).substr(text_position_, token().word);
  }

  const TreeKey& key_;
  size_t position_ = 0, text_position_ = 0, opaque_position_ = 0;
  std::vector<Parent> parents_;  // parents of the current token, outermost first
};

// Makes the current token a child of its parents.
void TreeKeyReader::enter() {
  while (!parents_.empty() && parents_.back().child == parents_.back().count) {
    parents_.pop_back();
    if (!parents_.empty()) ++parents_.back().child;
  }
}

void TreeKeyReader::advance() {
  const TreeType& type = *token().type;
  if (at_map_key()) {
    parents_.back().key = type.form == TreeForm::text ? std::string(characters()) : text();
  }
  const size_t children = child_count(type, token().word);
  if (type.form == TreeForm::text) text_position_ += token().word;
  if (type.form == TreeForm::opaque) ++opaque_position_;
  ++position_;
  if (children > 0) {
    parents_.push_back({&type, 0, children, {}});
  } else if (!parents_.empty()) {
    ++parents_.back().child;
    enter();
  }
}

bool TreeKeyReader::same_as(const TreeKeyReader& other) const {
  if (token() != other.token()) return false;
  switch (token().type->form) {
    case TreeForm::text: return characters() == other.characters();
    case TreeForm::opaque:
      return key_.opaque_[opaque_position_]->equals(*other.key_.opaque_[other.opaque_position_]);
    default: return true;
  }
}

std::string TreeKeyReader::path() const {
  TreePath path;
  for (const Parent& parent : parents_) {
    switch (parent.type->form) {
      case TreeForm::record:
        if (const auto name = parent.type->fields[parent.child]; !name.empty()) path.push(name);
        break;
      case TreeForm::tuple:
      case TreeForm::sequence: path.push(parent.child); break;
      case TreeForm::map:
        if (parent.child % 2 == 1) path.push(parent.key);
        break;
      default: break;
    }
  }
  return std::string(path.text());
}

std::string TreeKeyReader::text() const {
  const auto& [type, word] = token();
  switch (type->form) {
    case TreeForm::sequence: return plural(word, "element", "elements");
    case TreeForm::map: return plural(word, "entry", "entries");
    case TreeForm::optional: return word == 0 ? "absent" : "present";
    case TreeForm::variant: return fmt::format("alternative {}", static_cast<int64_t>(word));
    case TreeForm::value: return type->text(word);
    case TreeForm::text: return in_quotes(characters());
    case TreeForm::opaque: return key_.opaque_[opaque_position_]->text();
    case TreeForm::leaf:
    case TreeForm::record:
    case TreeForm::tuple:
    case TreeForm::buffers: break;
  }
  return std::string(type->name);
}

std::string explain_difference(const TreeKey& a, const TreeKey& b) {
  TreeKeyReader left(a), right(b);
  while (!left.done() && !right.done() && left.same_as(right)) {
    left.advance();
    right.advance();
  }
  if (left.done() && right.done()) return "";
  if (left.done() || right.done()) return "one of the keys is empty";
  const TreeType* types[] = {left.token().type, right.token().type};
  std::string shown[] = {std::string(types[0]->name), std::string(types[1]->name)};
  if (types[0] == types[1]) {
    shown[0] = left.text();
    shown[1] = right.text();
    if (shown[0] == shown[1]) shown[1] = "another";
  }
  std::string place = left.path();
  if (left.at_map_key()) place += place.empty() ? "key" : " key";
  if (!place.empty()) place += ": ";
  return fmt::format("{}{} ≠ {}", place, shown[0], shown[1]);
}

}  // namespace plait
