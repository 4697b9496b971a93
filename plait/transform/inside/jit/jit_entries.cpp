#include "plait/transform/inside/jit/jit_entries.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::jits {

std::vector<int64_t> sizes_of(const JitArguments& leaves) {
  std::vector<int64_t> sizes;
  sizes.reserve(2 * leaves.size());
  for (const Tensor* const leaf : leaves.all()) {
    if (!*leaf || !leaf->is_array()) continue;
    for (const int64_t size : leaf->array().sizes()) sizes.push_back(size);
  }
  return sizes;
}

bool is_kind(const LeafKind& kind, const Tensor* leaf) {
  if (kind.is_empty || !*leaf) return kind.is_empty && !*leaf;
  if (!leaf->is_array()) return kind.record == leaf->type();
  const Array& array = leaf->array();
  return array.dtype() == kind.dtype && array.device() == kind.device &&
         (!kind.is_unplaced || *kind.is_unplaced == array.is_unplaced()) &&
         array.sizes().size() == kind.rank && !kind.record.is_record();
}

bool all_hold(const std::vector<SizeFact>& facts, const Pattern& pattern,
              const std::vector<int64_t>& numbers, const SizeFact** first_that_fails) {
  if (facts.empty()) return true;
  SymbolMap<int64_t> sizes;
  for (size_t i = 0; i < numbers.size(); ++i) sizes.set(pattern.symbols[i], numbers[i]);
  for (const SizeFact& fact : facts) {
    if (fact.evaluate(sizes)) continue;
    if (first_that_fails != nullptr) *first_that_fails = &fact;
    return false;
  }
  return true;
}

namespace {

// Returns a symbol named after the path of the size, changed to a valid and unused name.
Dim symbol_for(const Entry& entry, std::string name) {
  for (char& c : name) {
    if (!continues_name(c)) c = '_';
  }
  if (!begins_name(name[0])) name.insert(0, "_");
  Dim symbol = Dim::symbol(name);
  for (int i = 1; std::ranges::any_of(entry.symbols, is_same_as(symbol)); ++i) {
    symbol = Dim::symbol(fmt::format("{}_{}", name, i));
  }
  return symbol;
}

// Applies options.dynamic: makes the sizes symbolic, and adds their promised facts.
void make_dynamic(const JitOptions& options, Entry& entry, const Call& call) {
  for (const DynamicSize& wanted : options.dynamic) {
    const std::string argument = fmt::format("arg{}", wanted.argument);
    const std::string leaf = wanted.leaf.empty() ? argument : argument + "." + wanted.leaf;
    bool found = false;
    size_t place = 0;
    for (size_t i = 0; i < entry.kinds.size(); place += entry.kinds[i++].rank) {
      const std::string& path = entry.paths[i];
      const bool is_meant =
          path == leaf || (wanted.leaf.empty() && path.starts_with(argument + "."));
      if (!is_meant || entry.kinds[i].is_empty) continue;
      const auto rank = static_cast<int64_t>(entry.kinds[i].rank);
      const int64_t axis = wanted.axis < 0 ? wanted.axis + rank : wanted.axis;
      if (axis < 0 || axis >= rank) {
        throw ValueError("{}: {} has no axis {}, which is declared dynamic", options.name, path,
                         wanted.axis);
      }
      const size_t at = place + static_cast<size_t>(axis);
      if (!wanted.name.empty()) entry.symbols[at] = Dim::symbol(wanted.name);
      entry.is_dynamic[at] = true;
      const Dim symbol = entry.symbols[at];
      const auto promise = [&](const SizeFact& fact) {
        if (std::ranges::find(entry.promised, fact) == entry.promised.end()) {
          entry.promised.push_back(fact);
        }
      };
      if (wanted.at_least > 0) promise(symbol >= Dim(wanted.at_least));
      if (wanted.at_most) promise(symbol <= Dim(*wanted.at_most));
      if (wanted.divisor > 1) promise({mod(symbol, wanted.divisor), SizeFact::equal, 0});
      found = true;
    }
    if (!found) {
      throw ValueError("{}: unknown argument {}, whose size is declared dynamic", options.name,
                       leaf)
          .hint(fmt::format("the arguments are {}", fmt::join(call.paths(), ", ")));
    }
  }
}

void forget_places_on_one_device(std::vector<LeafKind>& kinds) {
  std::optional<Device> one;
  for (const LeafKind& kind : kinds) {
    if (!kind.is_unplaced || is_key(kind.dtype)) continue;
    if (one && kind.device != *one) return;
    one = kind.device;
  }
  for (LeafKind& kind : kinds) kind.is_unplaced.reset();
}

}  // namespace

std::shared_ptr<Entry> new_entry(const JitOptions& options, const Call& call,
                                 std::span<const int64_t> sizes) {
  auto made = std::make_shared<Entry>();
  Entry& entry = *made;
  entry.key = call.key;
  entry.paths = call.paths();
  const std::vector<std::string> names =
      call.size_names ? call.size_names() : std::vector<std::string>(entry.paths.size());
  entry.default_device = default_device();
  for (const Tensor* const each : call.leaves.all()) {
    const Tensor& leaf = *each;
    const std::string& path = entry.paths[entry.kinds.size()];
    const std::string& name = names[entry.kinds.size()];
    if (!leaf) {
      entry.kinds.push_back({.is_empty = true});
      continue;
    }
    if (!leaf.is_array()) {
      entry.kinds.push_back({.record = leaf.type()});
      continue;
    }
    const Array& array = leaf.array();
    const size_t rank = array.sizes().size();
    entry.kinds.push_back({.dtype = array.dtype(),
                           .device = array.device(),
                           .is_unplaced = array.is_unplaced(),
                           .rank = rank});
    for (size_t axis = 0; axis < rank; ++axis) {
      const bool is_named = axis == 0 && !name.empty();
      entry.symbols.push_back(
          symbol_for(entry, is_named ? name : fmt::format("{}.{}", path, axis)));
    }
  }
  forget_places_on_one_device(entry.kinds);
  entry.seen.emplace_back(sizes.begin(), sizes.end());
  entry.is_dynamic.resize(sizes.size());
  entry.keeps_numbers = options.repeatable;
  make_dynamic(options, entry, call);
  return made;
}

bool has_kinds_of(const Entry& entry, const Call& call) {
  return entry.default_device == default_device() &&
         std::ranges::equal(entry.kinds, call.leaves.all(), is_kind);
}

// For equal keys. Host code may hold other tensors, which the key does not cover.
std::string explain_difference(const Entry& earlier, const Call& call) {
  const auto& kinds = earlier.kinds;
  const auto found = std::ranges::mismatch(kinds, call.leaves.all(), is_kind);
  const auto place = static_cast<size_t>(found.in1 - kinds.begin());
  if (place == kinds.size() && place == call.leaves.size()) {
    return fmt::format("the default device is {}, was {} before", text_of(default_device()),
                       text_of(earlier.default_device));
  }
  if (place == kinds.size() || place == call.leaves.size()) {
    return fmt::format("there are {} tensors, were {} before", call.leaves.size(), kinds.size());
  }
  const Tensor& leaf = call.leaves[place];
  if (leaf && leaf.device() != kinds[place].device) {
    return fmt::format("{} is on {}, was on {} before", earlier.paths[place],
                       text_of(leaf.device()), text_of(kinds[place].device));
  }
  const std::optional<bool> was_unplaced = leaf ? kinds[place].is_unplaced : std::nullopt;
  if (was_unplaced && *was_unplaced != leaf.is_unplaced()) {
    return fmt::format("{} is {} now", earlier.paths[place],
                       *was_unplaced ? "placed on its device" : "unplaced");
  }
  return fmt::format("{} is {}", earlier.paths[place],
                     leaf ? leaf.type().text() : "an empty tensor");
}

// Sizes that were equal in all calls so far share a symbol.
Variant& new_variant(Entry& entry, std::span<const int64_t> sizes, std::string& why) {
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t first = entry.seen.front()[i];
    if (entry.is_dynamic[i] || sizes[i] == first) continue;
    entry.is_dynamic[i] = !entry.keeps_numbers;
    if (why.empty()) {
      why =
          fmt::format("the size {} is {}, was {} before", entry.symbols[i].text(), sizes[i], first);
    }
  }
  entry.seen.emplace_back(sizes.begin(), sizes.end());
  const auto symbol_of = [&](size_t i) {
    const auto was_as = [&](size_t other) {
      return entry.is_dynamic[other] &&
             std::ranges::all_of(entry.seen, [&](const auto& all) { return all[i] == all[other]; });
    };
    size_t first = 0;
    while (first < i && !was_as(first)) ++first;
    return entry.symbols[entry.promised.empty() ? first : i];
  };
  Variant& variant = entry.variants.emplace_front();
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (!entry.is_dynamic[i] || entry.has_only_numbers) {
      variant.pattern.sizes.push_back(sizes[i]);
      continue;
    }
    auto& symbols = variant.pattern.symbols;
    const auto known = std::ranges::find_if(symbols, is_same_as(symbol_of(i)));
    variant.pattern.sizes.push_back(~static_cast<int64_t>(known - symbols.begin()));
    if (known == symbols.end()) symbols.push_back(symbol_of(i));
  }
  if (!entry.has_only_numbers) variant.promised = entry.promised;
  return variant;
}

std::vector<ir::Type> types_of(const Entry& entry, const Pattern& pattern) {
  std::vector<ir::Type> types;
  size_t place = 0;
  for (const LeafKind& kind : entry.kinds) {
    if (kind.is_empty || kind.record.is_record()) {
      types.push_back(kind.record);
      continue;
    }
    std::vector<Dim> dims;
    for (size_t axis = 0; axis < kind.rank; ++axis, ++place) {
      const int64_t size = pattern.sizes[place];
      dims.push_back(size >= 0 ? Dim(size) : pattern.symbols[static_cast<size_t>(~size)]);
    }
    types.push_back(ir::Type::array(kind.dtype, Shape(dims)));
  }
  return types;
}

void check_promised(const JitOptions& options, const Variant& variant,
                    std::span<const int64_t> sizes) {
  std::vector<int64_t> numbers;
  variant.pattern.fits(sizes, numbers);
  const SizeFact* failing = nullptr;
  if (all_hold(variant.promised, variant.pattern, numbers, &failing)) return;
  throw ShapeError("{}: {} was promised for the sizes, which are {}", options.name, failing->text(),
                   fmt::join(sizes, ", "))
      .at(Location::of_caller());
}

}  // namespace plait::jits
