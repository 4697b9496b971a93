// Host code that takes a symbolic size for a number, or asks whether something holds of sizes: who
// knows what they are at present.
#pragma once

#include <cstdint>
#include <optional>

#include "plait/core/sizes/dim.h"

namespace plait {

struct SizeFact;

// While one is there, its thread asks it, and then those that were there before.
class SizeReader {
 public:
  SizeReader() : outer_(current_) { current_ = this; }
  virtual ~SizeReader() { current_ = outer_; }
  SizeReader(const SizeReader&) = delete;
  SizeReader& operator=(const SizeReader&) = delete;

  // Nothing where nobody knows.
  static std::optional<int64_t> read(Dim size);
  static std::optional<bool> ask(const SizeFact& fact);

 private:
  virtual std::optional<int64_t> number(Dim size) = 0;
  virtual std::optional<bool> holds(const SizeFact& fact) = 0;

  static inline constinit thread_local SizeReader* current_ = nullptr;
  SizeReader* const outer_;
};

}  // namespace plait
