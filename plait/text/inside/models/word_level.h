// WordLevel: each word is a token.
#pragma once

#include "plait/text/inside/models/model.h"

namespace plait::text {

class WordLevel : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : Model(std::move(vocabulary)), unknown_(std::move(unknown)) {}
  static ModelPointer read(JsonFields& fields);
  const std::string& unknown() const { return unknown_; }

  void tokenize(std::string_view word, ModelMemory& memory,
                std::vector<ModelToken>& out) const override;
  void write(JsonWriter& out) const override;

 private:
  std::string unknown_;
};

}  // namespace plait::text
