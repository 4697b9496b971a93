#include "tests/support/nest_points.h"

#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace plait::nest_test {
namespace {

Element element_of(DType dtype, double x) {
  if (is_floating(dtype)) return Element::of(x);
  return is_boolean(dtype) ? Element::of(x != 0) : Element::of_signed(static_cast<int64_t>(x));
}

double identity(Reduction reduction, DType dtype) {
  const bool real = is_floating(dtype);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduction) {
    case Reduction::product:
    case Reduction::all: return 1;
    case Reduction::maximum:
      return real ? -kInfinity : static_cast<double>(integer_limits(dtype).min);
    case Reduction::minimum:
      return real ? kInfinity : static_cast<double>(integer_limits(dtype).max);
    default: return 0;
  }
}
double joined(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::sum: return a + b;
    case Reduction::product: return a * b;
    case Reduction::maximum: return std::isnan(a) || std::isnan(b) ? a + b : std::max(a, b);
    case Reduction::minimum: return std::isnan(a) || std::isnan(b) ? a + b : std::min(a, b);
    case Reduction::all: return a != 0 && b != 0 ? 1 : 0;
    case Reduction::any: return a != 0 || b != 0 ? 1 : 0;
    case Reduction::none: break;
  }
  return b;
}

class Reference {
 public:
  Reference(const Nest& nest, const std::vector<const Elements*>& parameters,
            const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols)
      : nest_(nest), parameters_(parameters), results_(results), symbols_(symbols) {}

  void run() {
    totals_.resize(nest_.results.size());
    index_.assign(nest_.outer.size() + 1, 0);
    if (nest_.grouped == 0) begin_totals();
    rows(0);
    for (size_t r = 0; r < nest_.results.size(); ++r) {
      for (const auto& [place, total] : totals_[r]) store(r, place, total);
    }
  }

 private:
  int64_t at(Dim size) const { return size.evaluate(symbols_); }
  DType dtype_of(const NestResult& result) const { return nest_.values[result.value].dtype; }
  int64_t place(const Affine& affine) const {
    int64_t sum = at(affine.offset);
    for (size_t d = 0; d < index_.size(); ++d) sum += index_[d] * at(affine.strides[d]);
    return sum;
  }
  void store(size_t r, size_t i, double x) {
    const DType dtype = results_[r]->dtype();
    store_element(dtype, element_of(dtype, x), results_[r]->data() + i * results_[r]->size());
  }

  // Totals are initialised even if there are no rows.
  void begin_totals() {
    for (size_t r = 0; r < nest_.results.size(); ++r) {
      const NestResult& result = nest_.results[r];
      if (result.reduction == Reduction::none) continue;
      for (int64_t c = 0; c < at(nest_.columns); ++c) {
        index_.back() = c;
        total_at(r, static_cast<size_t>(place(result.place)));
      }
    }
  }
  double& total_at(size_t r, size_t place) {
    const NestResult& result = nest_.results[r];
    return totals_[r]
        .try_emplace(place, identity(result.reduction, dtype_of(result)))
        .first->second;
  }

  void rows(size_t dimension) {
    if (dimension == nest_.outer.size()) return row();
    for (int64_t i = 0; i < at(nest_.outer[dimension]); ++i) {
      index_[dimension] = i;
      rows(dimension + 1);
    }
  }

  void row() {
    const int64_t columns = at(nest_.columns);
    values_.assign(nest_.values.size(), std::vector<double>(static_cast<size_t>(columns)));
    std::vector<double> once(nest_.values.size());
    for (size_t v = 0; v < nest_.values.size(); ++v) {
      const NestValue& value = nest_.values[v];
      const auto along = static_cast<size_t>(value.has_columns ? columns : 1);
      if (!value.has_columns) values_[v].resize(1);
      for (size_t c = 0; c < along; ++c) {
        index_.back() = static_cast<int64_t>(c);
        values_[v][c] = of(value, c);
      }
    }
    for (size_t r = 0; r < nest_.results.size(); ++r) result(r, columns);
  }

  double operand(uint32_t v, size_t column) const {
    return nest_.values[v].has_columns ? values_[v][column] : values_[v][0];
  }

  double of(const NestValue& value, size_t column) const {
    switch (value.kind) {
      case NestValue::Kind::load: return loaded(value);
      case NestValue::Kind::number: return real_of(value.dtype, value.number);
      case NestValue::Kind::size: return static_cast<double>(at(value.size));
      case NestValue::Kind::index: return static_cast<double>(place(value.place));
      case NestValue::Kind::compute: return computed(value, column);
      case NestValue::Kind::reduce: break;
    }
    double total = identity(value.reduction, value.dtype);
    for (int64_t c = 0; c < at(nest_.columns); ++c) {
      total = joined(value.reduction, total, operand(value.operands[0], static_cast<size_t>(c)));
    }
    return total;
  }
  double loaded(const NestValue& value) const {
    for (const Domain& domain : value.domains) {
      const int64_t i = index_[domain.dimension];
      if (i < at(domain.low) || i >= at(domain.high)) return real_of(value.dtype, value.number);
    }
    const Elements& from = *parameters_[value.parameter];
    return real_of(value.dtype, from.element(static_cast<size_t>(place(value.place))));
  }
  double computed(const NestValue& value, size_t column) const {
    std::vector<double> reals;
    for (const uint32_t v : value.operands) reals.push_back(operand(v, column));
    if (value.primitive->name == "convert") {
      std::byte bytes[8];
      store_element(value.dtype, element_of(nest_.values[value.operands[0]].dtype, reals[0]),
                    bytes);
      return real_of(value.dtype, load_element(value.dtype, bytes));
    }
    if (value.primitive->name == "select") return reals[0] != 0 ? reals[1] : reals[2];
    const DType dtype = nest_.values[value.operands.back()].dtype;
    if (is_floating(dtype)) return value.primitive->body.real(reals);
    std::vector<int64_t> whole(reals.begin(), reals.end());
    return static_cast<double>(value.primitive->body.integer(whole));
  }

  void result(size_t r, int64_t columns) {
    const NestResult& result = nest_.results[r];
    const bool moves = at(result.place.strides.back()) != 0;
    const bool is_once = !nest_.values[result.value].has_columns && !moves;
    for (int64_t c = 0; c < (is_once ? std::min<int64_t>(columns, 1) : columns); ++c) {
      index_.back() = c;
      const auto to = static_cast<size_t>(place(result.place));
      const double x = operand(result.value, static_cast<size_t>(c));
      if (result.reduction == Reduction::none) {
        store(r, to, x);
      } else {
        double& total = total_at(r, to);
        total = joined(result.reduction, total, x);
      }
    }
    if (is_once && columns == 0) {
      index_.back() = 0;
      const auto to = static_cast<size_t>(place(result.place));
      if (result.reduction == Reduction::none) store(r, to, values_[result.value][0]);
    }
  }

  const Nest& nest_;
  const std::vector<const Elements*>& parameters_;
  const std::vector<Elements*>& results_;
  const SymbolMap<int64_t>& symbols_;
  std::vector<int64_t> index_;
  std::vector<std::vector<double>> values_;
  std::vector<std::map<size_t, double>> totals_;
};

}  // namespace

double real_of(DType dtype, const Element& element) {
  if (is_floating(dtype)) return element.number.real();
  return element.is_signed ? static_cast<double>(static_cast<int64_t>(element.integer))
                           : static_cast<double>(element.integer);
}

Elements random_elements(DType dtype, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> distribution(-2, 2);
  Elements result(dtype, count);
  for (size_t i = 0; i < count; ++i) {
    double x = distribution(random);
    if (is_integer(dtype)) x = std::floor(is_signed(dtype) ? 8 * x : 8 * std::abs(x));
    if (is_boolean(dtype)) x = x > 0 ? 1 : 0;
    store_element(dtype, element_of(dtype, x), result.data() + i * result.size());
  }
  return result;
}

double relative_error_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return 1e-12;
    case DType::f32: return 2e-5;
    case DType::f16: return 2e-3;
    case DType::bf16: return 1.6e-2;
    default: return 0;
  }
}

void run_reference(const Nest& nest, const std::vector<const Elements*>& parameters,
                   const std::vector<Elements*>& results, const SymbolMap<int64_t>& symbols) {
  Reference(nest, parameters, results, symbols).run();
}

}  // namespace plait::nest_test
