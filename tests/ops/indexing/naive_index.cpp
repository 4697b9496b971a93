#include "tests/ops/indexing/naive_index.h"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"

namespace plait {
namespace {

int64_t count_of(const List& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

List coordinates(int64_t place, const List& sizes) {
  List result(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    result[i] = place % sizes[i];
    place /= sizes[i];
  }
  return result;
}

// Indices along one axis of x, or along a new one.
struct Fancy {
  std::optional<size_t> axis;
  List sizes, values;
};

// Values that an axis of the result iterates over.
struct Walk {
  std::optional<size_t> axis;  // none: a new axis
  List values;
};

List slice_values(const Slice& slice, int64_t size) {
  List values;
  const int64_t step = slice.step;
  const auto place = [&](std::optional<int64_t> given, int64_t standard) {
    if (!given) return standard;
    const int64_t from_front = *given < 0 ? *given + size : *given;
    if (step > 0) return std::clamp<int64_t>(from_front, 0, size);
    return std::clamp<int64_t>(from_front, -1, size - 1);
  };
  const int64_t start = place(slice.start, step > 0 ? 0 : size - 1);
  const int64_t stop = place(slice.stop, step > 0 ? size : -1);
  for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) values.push_back(i);
  return values;
}

std::optional<List> broadcast_to_shape(const List& a, const List& b) {
  List result;
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const int64_t m = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t n = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (m != n && m != 1 && n != 1) return std::nullopt;
    result.insert(result.begin(), m == 1 ? n : m);
  }
  return result;
}

// The element at `at` of an array that is broadcast.
int64_t element_at(const Fancy& fancy, const List& at) {
  int64_t place = 0;
  for (size_t i = 0; i < fancy.sizes.size(); ++i) {
    const int64_t here = at[at.size() - fancy.sizes.size() + i];
    place = place * fancy.sizes[i] + (fancy.sizes[i] == 1 ? 0 : here);
  }
  return fancy.values[static_cast<size_t>(place)];
}

struct Reading {
  std::vector<Walk> walks;
  std::vector<Fancy> fancies;
  size_t first = 0;  // number of walks before the first index tensor
  bool apart = false;
};

void add_mask(Reading& reading, const NaiveEntry& entry, size_t& axis) {
  std::vector<Fancy> found(std::max<size_t>(entry.sizes.size(), 1));
  for (size_t i = 0; i < entry.values.size(); ++i) {
    if (entry.values[i] == 0) continue;
    const List at = coordinates(static_cast<int64_t>(i), entry.sizes);
    if (at.empty()) found[0].values.push_back(0);
    for (size_t k = 0; k < at.size(); ++k) found[k].values.push_back(at[k]);
  }
  for (Fancy& fancy : found) {
    fancy.sizes = {static_cast<int64_t>(fancy.values.size())};
    if (!entry.sizes.empty()) fancy.axis = axis++;
    reading.fancies.push_back(std::move(fancy));
  }
}

Reading read(const List& x, const std::vector<NaiveEntry>& entries, size_t left) {
  const bool has_fancy = std::ranges::any_of(entries, [](const NaiveEntry& entry) {
    return entry.kind == NaiveEntry::tensor || entry.kind == NaiveEntry::mask;
  });
  Reading reading;
  size_t axis = 0;
  bool gap = false;
  for (const NaiveEntry& entry : entries) {
    const bool is_integer = entry.kind == NaiveEntry::integer;
    const bool is_fancy =
        entry.kind == NaiveEntry::tensor || entry.kind == NaiveEntry::mask || is_integer;
    if (is_fancy && has_fancy) {
      if (reading.fancies.empty())
        reading.first = reading.walks.size();
      else
        reading.apart |= gap;
      gap = false;
    } else {
      gap = true;
    }
    switch (entry.kind) {
      case NaiveEntry::integer: reading.fancies.push_back({axis++, {}, {entry.number}}); break;
      case NaiveEntry::tensor:
        reading.fancies.push_back({axis++, entry.sizes, entry.values});
        break;
      case NaiveEntry::mask: add_mask(reading, entry, axis); break;
      case NaiveEntry::new_axis: reading.walks.push_back({std::nullopt, {0}}); break;
      case NaiveEntry::slice:
        reading.walks.push_back({axis, slice_values(entry.range, x[axis])});
        ++axis;
        break;
      case NaiveEntry::ellipsis:
        for (size_t i = 0; i < left; ++i, ++axis) {
          reading.walks.push_back({axis, slice_values({}, x[axis])});
        }
        break;
    }
  }
  return reading;
}

}  // namespace

std::optional<NaiveResult> naive_index(const List& x, std::vector<NaiveEntry> entries) {
  size_t named = 0;
  bool has_ellipsis = false;
  for (const NaiveEntry& entry : entries) {
    if (entry.kind == NaiveEntry::mask) named += entry.sizes.size();
    if (entry.kind == NaiveEntry::integer || entry.kind == NaiveEntry::slice ||
        entry.kind == NaiveEntry::tensor) {
      ++named;
    }
    has_ellipsis |= entry.kind == NaiveEntry::ellipsis;
  }
  if (!has_ellipsis) entries.push_back({NaiveEntry::ellipsis});
  const Reading reading = read(x, entries, x.size() - named);
  List points;
  for (const Fancy& fancy : reading.fancies) {
    const auto both = broadcast_to_shape(points, fancy.sizes);
    if (!both) return std::nullopt;
    points = *both;
  }
  const size_t front = reading.apart ? 0 : reading.first;
  NaiveResult result;
  for (size_t i = 0; i < reading.walks.size(); ++i) {
    if (i == front) result.sizes.insert(result.sizes.end(), points.begin(), points.end());
    result.sizes.push_back(static_cast<int64_t>(reading.walks[i].values.size()));
  }
  if (front == reading.walks.size()) {
    result.sizes.insert(result.sizes.end(), points.begin(), points.end());
  }
  for (int64_t element = 0; element < count_of(result.sizes); ++element) {
    const List at = coordinates(element, result.sizes);
    const List point(at.begin() + static_cast<ptrdiff_t>(front),
                     at.begin() + static_cast<ptrdiff_t>(front + points.size()));
    List place(x.size());
    for (size_t i = 0; i < reading.walks.size(); ++i) {
      const int64_t here = at[i < front ? i : i + points.size()];
      const Walk& walk = reading.walks[i];
      if (walk.axis) place[*walk.axis] = walk.values[static_cast<size_t>(here)];
    }
    for (const Fancy& fancy : reading.fancies) {
      if (!fancy.axis) continue;
      const int64_t number = element_at(fancy, point);
      place[*fancy.axis] = number < 0 ? number + x[*fancy.axis] : number;
    }
    int64_t flat = 0;
    for (size_t i = 0; i < x.size(); ++i) flat = flat * x[i] + place[i];
    result.places.push_back(flat);
  }
  return result;
}

Index NaiveEntry::index() const {
  switch (kind) {
    case integer: return number;
    case slice: return range;
    case ellipsis: return plait::ellipsis;
    case new_axis: return plait::new_axis;
    case tensor: return plait::tensor(values, Sizes(sizes));
    case mask: return astype(plait::tensor(values, Sizes(sizes)), DType::boolean);
  }
  return plait::ellipsis;
}

std::string NaiveEntry::text() const {
  const auto bound = [](std::optional<int64_t> at) { return at ? fmt::format("{}", *at) : ""; };
  switch (kind) {
    case integer: return fmt::format("{}", number);
    case slice: return fmt::format("{}:{}:{}", bound(range.start), bound(range.stop), range.step);
    case ellipsis: return "...";
    case new_axis: return "None";
    default: return fmt::format("{}{}{}", kind == mask ? "mask" : "tensor", sizes, values);
  }
}

std::vector<Index> indices_of(const std::vector<NaiveEntry>& entries) {
  std::vector<Index> indices;
  for (const NaiveEntry& entry : entries) indices.push_back(entry.index());
  return indices;
}

std::string text_of(const std::vector<NaiveEntry>& entries) {
  std::string text = "x[";
  for (const NaiveEntry& entry : entries) text += entry.text() + ", ";
  return text + "]";
}

}  // namespace plait
