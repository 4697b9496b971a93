#include "plait/tensor/inside/tracing/traced_sizes.h"

#include <algorithm>

#include "plait/core/inside/sizes/size_reader.h"

namespace plait {
namespace {

// Answers host code that reads sizes or tests conditions on them.
class Reader final : public SizeReader {
 public:
  explicit Reader(SizeContext& sizes) : sizes_(sizes) {}

 private:
  std::optional<int64_t> number(Dim size) override {
    const std::optional<int64_t> known = sizes_.actual(size);
    if (known) sizes_.decide({size, SizeFact::equal, *known});
    return known;
  }
  std::optional<bool> holds(const SizeFact& fact) override {
    const bool is_known = sizes_.actual(fact.left) && sizes_.actual(fact.right);
    return is_known ? std::optional(sizes_.decide(fact)) : std::nullopt;
  }
  std::optional<bool> are_equal(Dim a, Dim b) override { return holds({a, SizeFact::equal, b}); }

  SizeContext& sizes_;
};

}  // namespace

TracedSizes::TracedSizes() = default;
TracedSizes::~TracedSizes() = default;

bool TracedSizes::is_about_parameters(const SizeFact& fact) const {
  bool all = true;
  for (const Dim side : {fact.left, fact.right}) {
    side.for_each_symbol([&](Dim symbol) {
      all = all && std::ranges::find_if(parameters_, is_same_as(symbol)) != parameters_.end();
    });
  }
  return all;
}

std::vector<SizeFact> TracedSizes::facts_on_entry() const {
  std::vector<SizeFact> facts;
  for (const SizeFact& fact : decisions_.guards()) {
    if (is_about_parameters(fact)) facts.push_back(fact);
  }
  return facts;
}

std::optional<SizeFact> TracedSizes::next_to_guard() {
  while (handled_ < decisions_.guards().size()) {
    const SizeFact& fact = decisions_.guards()[handled_++];
    if (!is_about_parameters(fact)) return fact;
  }
  return std::nullopt;
}

void TracedSizes::begin_reading(const TracedSizes* outer) {
  if (outer != nullptr) numbers_ = outer->numbers_;
  decisions_ = SizeContext({}, &numbers_);
  reader_ = std::make_unique<Reader>(decisions_);
}

void TracedSizes::stop_reading() { reader_.reset(); }

void TracedSizes::learn(std::span<const ir::Type> types, std::span<const Tensor> actual) {
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].is_array()) continue;
    const Sizes& sizes = actual[i].array().sizes();
    for (size_t axis = 0; axis < sizes.size(); ++axis) {
      const Dim dim = types[i].shape()[axis];
      if (dim.is_symbol() && !numbers_.find(dim)) numbers_.set(dim, sizes[axis]);
    }
  }
}

}  // namespace plait
