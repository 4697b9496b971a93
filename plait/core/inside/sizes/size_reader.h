// Answers host code that reads a symbolic size as a number, or tests a condition on sizes, with the
// actual sizes of this run.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/sizes/dim.h"

namespace plait {

struct SizeFact;

// While one exists, its thread asks it first, then the earlier ones.
class SizeReader {
 public:
  SizeReader() : outer_(std::exchange(ambient.size_reader, this)) {}
  virtual ~SizeReader() { ambient.size_reader = outer_; }
  SizeReader(const SizeReader&) = delete;
  SizeReader& operator=(const SizeReader&) = delete;

  // Empty if no reader knows.
  static std::optional<int64_t> read(Dim size);
  static std::optional<bool> ask(const SizeFact& fact);
  static std::optional<bool> ask_equal(Dim a, Dim b);

 private:
  virtual std::optional<int64_t> number(Dim size) = 0;
  virtual std::optional<bool> holds(const SizeFact& fact) = 0;
  virtual std::optional<bool> are_equal(Dim a, Dim b) = 0;

  SizeReader* const outer_;
};

}  // namespace plait
