// The texts of tokens: those of the vocabulary, and those of one encoding that differ from it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/inside/vocabulary.h"

namespace plait::text {

// Gives the text of an id; shared by all encodings of a tokenizer.
class TokenNames {
 public:
  virtual ~TokenNames() = default;
  virtual std::string_view text_of(uint32_t id) const = 0;
};

// A name is an id, or, from kOwn on, the number of a text of its own.
class TokenTexts {
 public:
  static constexpr uint32_t kOwn = uint32_t{1} << 31;

  explicit TokenTexts(std::shared_ptr<const TokenNames> names) : names_(std::move(names)) {}

  std::string_view of_id(uint32_t id) const { return names_->text_of(id); }
  std::string_view of_name(uint32_t name) const {
    return name < kOwn ? of_id(name) : std::string_view(own_[name - kOwn]);
  }
  // The name of the text for a token with this id.
  uint32_t name(uint32_t id, std::string_view text) {
    if (id < kOwn && names_->text_of(id) == text) return id;
    own_.emplace_back(text);
    return kOwn + static_cast<uint32_t>(own_.size() - 1);
  }

 private:
  std::shared_ptr<const TokenNames> names_;
  std::vector<std::string> own_;
};

}  // namespace plait::text
