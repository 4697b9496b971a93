// Random indices of random arrays compared with NumPy's rules, element by element.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/ops/indexing/naive_index.h"

namespace plait {
namespace {

int64_t drawn(int64_t low, int64_t high) { return *rc::gen::inRange(low, high + 1); }

List drawn_sizes(int64_t most_rank, int64_t least, int64_t most) {
  List sizes(static_cast<size_t>(drawn(0, most_rank)));
  for (int64_t& size : sizes) size = drawn(least, most);
  return sizes;
}

Slice drawn_slice(int64_t size) {
  Slice slice;
  if (drawn(0, 2) > 0) slice.start = drawn(-size - 2, size + 2);
  if (drawn(0, 2) > 0) slice.stop = drawn(-size - 2, size + 2);
  slice.step = drawn(1, 3) * (drawn(0, 2) == 0 ? -1 : 1);
  return slice;
}

int64_t elements_of(const List& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Sizes are drawn such that tensors often broadcast to one shape.
NaiveEntry drawn_tensor(int64_t size) {
  NaiveEntry entry{.kind = NaiveEntry::tensor};
  entry.sizes = drawn_sizes(2, 0, 2);
  for (int64_t& each : entry.sizes) each = each == 0 ? 1 : each;
  if (drawn(0, 9) == 0) entry.sizes.assign(1, 0);
  for (int64_t i = elements_of(entry.sizes); i > 0; --i) {
    entry.values.push_back(drawn(-size, size - 1));
  }
  return entry;
}

NaiveEntry drawn_mask(const List& sizes) {
  NaiveEntry entry{.kind = NaiveEntry::mask, .sizes = sizes};
  for (int64_t i = elements_of(sizes); i > 0; --i) entry.values.push_back(drawn(0, 1));
  return entry;
}

std::vector<NaiveEntry> drawn_index(const List& x) {
  std::vector<NaiveEntry> entries;
  bool has_ellipsis = false;
  size_t axis = 0;
  // Entries behind an ellipsis count their axes from the end.
  const size_t skipped = static_cast<size_t>(drawn(0, static_cast<int64_t>(x.size())));
  const auto size_at = [&](size_t i) { return x[has_ellipsis ? i + skipped : i]; };
  const auto left = [&] { return x.size() - axis - (has_ellipsis ? skipped : 0); };
  for (int64_t count = drawn(0, 5); count > 0; --count) {
    const int64_t choice = drawn(0, 7);
    if (choice == 0 && !has_ellipsis && left() >= skipped) {
      has_ellipsis = true;
      entries.push_back({NaiveEntry::ellipsis});
    } else if (choice == 1) {
      entries.push_back({NaiveEntry::new_axis});
    } else if (choice == 2) {
      List sizes;
      const int64_t most = std::min<int64_t>(static_cast<int64_t>(left()), 2);
      for (int64_t rank = drawn(drawn(0, 3) == 0 || most == 0 ? 0 : 1, most); rank > 0; --rank) {
        sizes.push_back(size_at(axis++));
      }
      entries.push_back(drawn_mask(sizes));
    } else if (left() > 0) {
      const int64_t size = size_at(axis++);
      if (choice <= 4 && size > 0)
        entries.push_back(drawn_tensor(size));
      else if (choice == 5 && size > 0)
        entries.push_back({NaiveEntry::integer, drawn(-size, size - 1)});
      else
        entries.push_back({.kind = NaiveEntry::slice, .range = drawn_slice(size)});
    }
  }
  // The ellipsis must cover exactly the skipped axes.
  for (; has_ellipsis && left() > 0;) {
    entries.push_back({.kind = NaiveEntry::slice, .range = drawn_slice(size_at(axis++))});
  }
  return entries;
}

List elements(const Tensor& tensor) {
  const Array array = tensor.array().contiguous();
  const auto values = array.elements<int64_t>();
  return {values.begin(), values.end()};
}

struct DrawnCase {
  List sizes;
  std::vector<NaiveEntry> entries;
  std::optional<NaiveResult> expected;
};
DrawnCase drawn_case() {
  DrawnCase drawn{.sizes = drawn_sizes(4, 0, 3)};
  drawn.entries = drawn_index(drawn.sizes);
  drawn.expected = naive_index(drawn.sizes, drawn.entries);
  RC_LOG() << "x of sizes " << text_of_sizes(drawn.sizes) << ": " << text_of(drawn.entries) << '\n';
  return drawn;
}

// The same numbers in another memory layout.
Tensor turned(const Tensor& x) {
  if (x.rank() < 2) return x;
  return swapaxes(Tensor(swapaxes(x, 0, -1).array().copy()), 0, -1);
}

// True if a mask is combined with another index tensor: a trace does not know how many elements the
// mask selects, and assumes as many as the other tensor has.
bool sizes_depend_on_numbers(const std::vector<NaiveEntry>& entries) {
  const auto has_sizes = [](const NaiveEntry& entry) {
    return entry.kind == NaiveEntry::mask || !entry.sizes.empty();
  };
  const auto is_mask = [](const NaiveEntry& entry) { return entry.kind == NaiveEntry::mask; };
  return std::ranges::any_of(entries, is_mask) && std::ranges::count_if(entries, has_sizes) > 1;
}

TEST(IndexProperty, ReadsWhatNumPyReads) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < 20; ++round) {
      const DrawnCase drawn = drawn_case();
      Tensor x = reshape(arange(elements_of(drawn.sizes)), Shape::of_sizes(drawn.sizes));
      if (round % 2 == 1) x = turned(x);
      const std::vector<Index> indices = indices_of(drawn.entries);
      if (!drawn.expected) {
        RC_ASSERT_THROWS_AS(index(x, indices), ShapeError);
        continue;
      }
      const Tensor result = index(x, indices);
      RC_ASSERT(result.shape() == Shape::of_sizes(drawn.expected->sizes));
      RC_ASSERT(elements(result) == drawn.expected->places);
      if (sizes_depend_on_numbers(drawn.entries)) continue;
      // Tracing and evaluating the program gives the same.
      const auto traced = trace([&](const Tensor& y) { return index(y, indices); })(x);
      std::vector<Tensor> arguments{x};
      arguments.insert(arguments.end(), traced.hidden_inputs.begin(), traced.hidden_inputs.end());
      const Tensor evaluated = evaluate(traced.program, arguments)[0];
      RC_ASSERT(evaluated.shape() == result.shape());
      RC_ASSERT(elements(evaluated) == drawn.expected->places);
    }
  }));
}

TEST(IndexProperty, WritesWhatALoopWrites) {
  EXPECT_TRUE(rc::check([] {
    for (int round = 0; round < 20; ++round) {
      const DrawnCase drawn = drawn_case();
      if (!drawn.expected) continue;
      const Tensor x = reshape(arange(elements_of(drawn.sizes)), Shape::of_sizes(drawn.sizes));
      const std::vector<Index> indices = indices_of(drawn.entries);
      const List& places = drawn.expected->places;
      const Tensor value = reshape(arange(static_cast<int64_t>(places.size())) + 100,
                                   Shape::of_sizes(drawn.expected->sizes));
      const List before = elements(x);
      List set = before, added = before, multiplied = before, least = before, same = before;
      for (size_t i = 0; i < places.size(); ++i) {
        const auto at = static_cast<size_t>(places[i]);
        const int64_t number = static_cast<int64_t>(i) + 100;
        set[at] = number;
        added[at] += number;
        multiplied[at] = static_cast<int64_t>(static_cast<uint64_t>(multiplied[at]) *
                                              static_cast<uint64_t>(number));
        least[at] = std::min(least[at], -7 + 0 * number);
        same[at] = -7;
      }
      RC_ASSERT(elements(IndexedTensor(x, indices).set(value)) == set);
      RC_ASSERT(elements(IndexedTensor(x, indices).add(value)) == added);
      RC_ASSERT(elements(IndexedTensor(x, indices).multiply(value)) == multiplied);
      RC_ASSERT(elements(IndexedTensor(x, indices).min(-7)) == least);
      RC_ASSERT(elements(IndexedTensor(x, indices).set(-7)) == same);
      RC_ASSERT(elements(x) == before);
      Tensor own = turned(x);
      RC_ASSERT(elements(IndexedTensor(std::move(own), indices).add(value)) == added);
      own = Tensor(x.array().copy());
      RC_ASSERT(elements(IndexedTensor(std::move(own), indices).set(value)) == set);
    }
  }));
}

}  // namespace
}  // namespace plait
