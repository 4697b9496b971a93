#include "plait/core/sizes/shape.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/sizes/size_facts.h"

namespace plait {

Shape::Shape(std::span<const Dim> dims) : rank_(static_cast<uint32_t>(dims.size())) {
  if (rank_ > kInlineRank) {
    heap_ = std::make_unique<Dim[]>(rank_);
    capacity_ = rank_;
  }
  std::ranges::copy(dims, data());
}

Shape Shape::of_sizes(std::span<const int64_t> sizes) {
  Shape shape;
  for (const int64_t size : sizes) shape.append(size);
  return shape;
}

Shape::Shape(Shape&& other) noexcept { *this = std::move(other); }

Shape& Shape::operator=(const Shape& other) {
  if (this != &other) *this = Shape(other);
  return *this;
}

Shape& Shape::operator=(Shape&& other) noexcept {
  rank_ = std::exchange(other.rank_, 0);
  capacity_ = std::exchange(other.capacity_, kInlineRank);
  inline_ = other.inline_;
  heap_ = std::move(other.heap_);
  return *this;
}

void Shape::append(Dim dim) {
  if (rank_ == capacity_) {
    auto larger = std::make_unique<Dim[]>(2 * size_t{capacity_});
    std::ranges::copy(dims(), larger.get());
    heap_ = std::move(larger);
    capacity_ *= 2;
  }
  data()[rank_++] = dim;
}

void Shape::refuse_index(int64_t i) const {
  if (rank_ == 0) throw IndexError("axis {} is out of range for a scalar, which has no axes", i);
  throw IndexError("axis {} is out of range for {}, whose axes are {} to {}", i, text(),
                   -int64_t{rank_}, rank_ - 1);
}

size_t Shape::index_of(int64_t i) const {
  const int64_t index = i < 0 ? i + rank_ : i;
  if (index < 0 || index >= rank_) refuse_index(i);
  return static_cast<size_t>(index);
}

bool Shape::is_static() const { return std::ranges::all_of(dims(), &Dim::is_number); }

std::vector<int64_t> Shape::to_sizes() const {
  if (!is_static()) throw ValueError("{}: some of its sizes are symbols", text());
  std::vector<int64_t> sizes;
  for (const Dim dim : dims()) sizes.push_back(dim.number());
  return sizes;
}

Dim Shape::element_count() const {
  Dim count = 1;
  for (const Dim dim : dims()) count = count * dim;
  return count;
}

Shape Shape::substitute(const SymbolMap<Dim>& sizes) const {
  Shape result = *this;
  for (size_t i = 0; i < rank_; ++i) result.data()[i] = data()[i].substitute(sizes);
  return result;
}

std::vector<int64_t> Shape::evaluate(const SymbolMap<int64_t>& sizes) const {
  std::vector<int64_t> values;
  for (const Dim dim : dims()) values.push_back(dim.evaluate(sizes));
  return values;
}

std::string Shape::text() const {
  std::string text = "[";
  for (const Dim dim : dims()) {
    if (text.size() > 1) text += ", ";
    text += dim.text();
  }
  return text + "]";
}

uint64_t Shape::hash() const {
  uint64_t hash = rank_;
  for (const Dim dim : dims()) hash = hash_combine(hash, dim.hash());
  return hash;
}

bool same(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dims(), b.dims(), [](Dim x, Dim y) { return same(x, y); });
}
bool operator==(const Shape& a, const Shape& b) { return std::ranges::equal(a.dims(), b.dims()); }

std::vector<Dim> contiguous_strides(const Shape& shape) {
  std::vector<Dim> strides(shape.rank());
  Dim stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    strides[i] = stride;
    stride = stride * shape[i];
  }
  return strides;
}

std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides;
  for (const Dim stride : contiguous_strides(Shape::of_sizes(sizes))) {
    strides.push_back(stride.number());
  }
  return strides;
}

namespace {

class Broadcast {
 public:
  Broadcast(const Shape& a, const Shape& b, SizeContext& context)
      : a_(a), b_(b), context_(context) {}

  Shape run() {
    const size_t rank = std::max(a_.rank(), b_.rank());
    Shape result;
    for (size_t i = 0; i < rank; ++i) {
      result.append(dim(aligned(a_, rank, i), aligned(b_, rank, i)));
    }
    if (changed_) context_ = *std::move(changed_);
    return result;
  }

 private:
  static Dim aligned(const Shape& shape, size_t rank, size_t i) {
    const size_t missing = rank - shape.rank();
    return i < missing ? Dim(1) : shape[i - missing];
  }

  Dim dim(Dim a, Dim b) {
    if (same(a, b) || same(b, Dim(1))) return a;
    if (same(a, Dim(1))) return b;
    if (a.is_number() && b.is_number()) refuse(a, b);
    // Prefer the number of two equal sizes.
    const Dim either = b.is_number() ? b : a;
    const auto equal = known({a, SizeFact::equal, b});
    if (equal == true) return either;
    if (known({a, SizeFact::equal, 1}) == true) return b;
    if (known({b, SizeFact::equal, 1}) == true) return a;
    const auto actual_a = context_.actual(a), actual_b = context_.actual(b);
    if (!actual_a || !actual_b) {
      if (equal == false) refuse(a, b);
      return assumed({a, SizeFact::equal, b}, either);
    }
    if (actual_a == actual_b) return assumed({a, SizeFact::equal, b}, either);
    if (actual_a == 1) return assumed({a, SizeFact::equal, 1}, b);
    if (actual_b == 1) return assumed({b, SizeFact::equal, 1}, a);
    refuse(a, b);
  }

  std::optional<bool> known(const SizeFact& fact) const {
    return (changed_ ? *changed_ : context_).facts().prove(fact);
  }

  Dim assumed(const SizeFact& fact, Dim result) {
    if (!changed_) changed_ = context_;
    changed_->assume(fact);
    return result;
  }

  [[noreturn]] void refuse(Dim a, Dim b) const {
    const auto described = [&](Dim dim) {
      const auto actual = context_.actual(dim);
      return dim.is_number() || !actual ? dim.text() : fmt::format("{} = {}", dim, *actual);
    };
    throw ShapeError("{} and {} do not broadcast: {} ≠ {}, and neither is 1", a_, b_, described(a),
                     described(b));
  }

  const Shape& a_;
  const Shape& b_;
  SizeContext& context_;
  std::optional<SizeContext> changed_;
};

}  // namespace

Shape broadcast(const Shape& a, const Shape& b, SizeContext& context) {
  return Broadcast(a, b, context).run();
}

}  // namespace plait

size_t std::hash<plait::Shape>::operator()(const plait::Shape& shape) const noexcept {
  uint64_t hash = shape.rank();
  for (const plait::Dim dim : shape) hash = plait::hash_combine(hash, dim.word());
  return hash;
}

fmt::format_context::iterator fmt::formatter<plait::Shape>::format(
    const plait::Shape& shape, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(shape.text(), context);
}
