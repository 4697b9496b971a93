#include "plait/core/inside/sizes/size_reader.h"

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

std::optional<bool> SizeReader::ask_equal(Dim a, Dim b) {
  for (SizeReader* reader = ambient.size_reader; reader != nullptr; reader = reader->outer_) {
    if (const auto truth = reader->are_equal(a, b)) return truth;
  }
  return std::nullopt;
}

}  // namespace plait
