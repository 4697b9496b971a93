#include "plait/core/inside/sizes/size_reader.h"

#include "plait/core/sizes/size_facts.h"

namespace plait {

std::optional<int64_t> SizeReader::read(Dim size) {
  for (SizeReader* reader = ambient.size_reader; reader != nullptr; reader = reader->outer_) {
    if (const auto number = reader->number(size)) return number;
  }
  return std::nullopt;
}

std::optional<bool> SizeReader::ask(const SizeFact& fact) {
  for (SizeReader* reader = ambient.size_reader; reader != nullptr; reader = reader->outer_) {
    if (const auto truth = reader->holds(fact)) return truth;
  }
  return std::nullopt;
}

}  // namespace plait
