// Memory of accumulated results: wide enough for the accumulation, and one for each part of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/cpu/inside/fused/nest_call.h"

namespace plait::cpu {

// The results of a reduction of nothing.
void fill_with_identities(const NestCall& call);

// Results in the dtype of the accumulation: narrower ones are accumulated in memory of their own,
// and rounded once.
class WideResults {
 public:
  explicit WideResults(const NestCall& call);

  std::span<void* const> places() const { return places_; }
  void round() const;

 private:
  const NestCall& call_;
  std::vector<Buffer> memory_;
  std::vector<void*> places_;
};

// The results of each part of an accumulation. The first one accumulates in `results`.
class PartialResults {
 public:
  PartialResults(const NestCall& call, std::span<void* const> results, int64_t parts);

  std::vector<void*> places(int64_t part) const;
  // Combines the parts, in order, into `results`.
  void join() const;

 private:
  int64_t bytes_of(size_t result) const;
  std::byte* place(size_t result, int64_t part) const {
    return memory_[result].data() + (part - 1) * bytes_of(result);
  }

  const NestCall& call_;
  const std::span<void* const> results_;
  const int64_t parts_;
  std::vector<Buffer> memory_;
};

}  // namespace plait::cpu
