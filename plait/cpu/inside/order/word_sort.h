// Sorting of integers on several threads: a merge sort of parts that are sorted by a vectorised
// kernel.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/order/sort_kernels.h"

namespace plait {

class WordSorter {
 public:
  WordSorter(cpu::WordSort sort, int threads)
      : sort_(sort), parts_(static_cast<int64_t>(std::bit_floor(static_cast<unsigned>(threads)))) {}

  // Returns whichever of the two buffers holds the result.
  uint32_t* sort(uint32_t* words, uint32_t* spare, int64_t count) const {
    if (parts_ == 1) {
      sort_(words, count);
      return words;
    }
    const auto begin = [&](int64_t part) { return count * part / parts_; };
    parallel_chunks(
        parts_, [&](int64_t part) { sort_(words + begin(part), begin(part + 1) - begin(part)); });
    for (int64_t width = 1; width < parts_; width *= 2) {
      // Each pair of neighbouring parts is merged by several threads, one piece each.
      parallel_chunks(parts_, [&](int64_t piece) {
        const int64_t first = piece / (2 * width) * (2 * width);
        const int64_t low = begin(first), middle = begin(first + width),
                      high = begin(first + 2 * width);
        merge({words + low, middle - low}, {words + middle, high - middle},
              (high - low) * (piece - first) / (2 * width),
              (high - low) * (piece - first + 1) / (2 * width), spare + low);
      });
      std::swap(words, spare);
    }
    return words;
  }

 private:
  struct Run {
    const uint32_t* words;
    int64_t count;
  };

  // How many of the first `count` merged words come from a.
  static int64_t share_of(Run a, Run b, int64_t count) {
    int64_t low = std::max<int64_t>(count - b.count, 0), high = std::min(count, a.count);
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (a.words[middle] < b.words[count - middle - 1]) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  // Writes the merged words from `begin` to `end` to their places.
  static void merge(Run a, Run b, int64_t begin, int64_t end, uint32_t* to) {
    int64_t i = share_of(a, b, begin), j = begin - i;
    const int64_t last_i = share_of(a, b, end), last_j = end - last_i;
    to += begin;
    while (i < last_i && j < last_j) {
      const uint32_t left = a.words[i], right = b.words[j];
      const bool takes_right = right < left;  // unpredictable, therefore without a branch
      *to++ = takes_right ? right : left;
      i += takes_right ? 0 : 1;
      j += takes_right ? 1 : 0;
    }
    to = std::copy(a.words + i, a.words + last_i, to);
    std::copy(b.words + j, b.words + last_j, to);
  }

  cpu::WordSort sort_;
  int64_t parts_;  // a power of two
};

}  // namespace plait
