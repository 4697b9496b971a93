#include "plait/cuda/inside/nests/nest_text.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "plait/cuda/inside/nests/operations.h"

namespace plait::cuda {

using compile::Affine;
using compile::Domain;
using compile::NestValue;
using Kind = NestValue::Kind;

NestText::NestText(const PlannedNest& planned, const TextVariant& variant)
    : planned_(planned), variant_(variant) {}

// ---- Sizes and places.

std::string NestText::size(Dim dim) const {
  if (dim.is_number()) {
    return dim.number() < 0 ? fmt::format("({})", dim.number()) : std::to_string(dim.number());
  }
  const auto found = std::ranges::find_if(planned_.sizes, is_same_as(dim));
  return fmt::format("s{}", found - planned_.sizes.begin());
}

std::string NestText::product(std::span<const Dim> dims) const {
  std::string text = "(Index)1";
  for (const Dim dim : dims) text += " * " + size(dim);
  return text;
}

std::string NestText::index_text(size_t dimension, std::string_view column,
                                 std::string_view suffix) const {
  return dimension == nest().outer.size() ? std::string(column)
                                          : fmt::format("i{}{}", dimension, suffix);
}

std::string NestText::place(const Affine& place, std::string_view column,
                            std::string_view suffix) const {
  std::vector<std::string> terms;
  if (!same(place.offset, Dim(0))) terms.push_back(size(place.offset));
  for (size_t k = 0; k < place.strides.size(); ++k) {
    if (same(place.strides[k], Dim(0))) continue;
    const std::string index = index_text(k, column, suffix);
    terms.push_back(same(place.strides[k], Dim(1)) ? index
                                                   : index + " * " + size(place.strides[k]));
  }
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

bool NestText::is_dense(const Affine& place) const { return same(place.strides.back(), Dim(1)); }

// ---- Parts of kernels.

std::string NestText::parameters() const {
  std::vector<std::string> all;
  for (size_t i = 0; i < nest().parameters.size(); ++i) {
    const std::string_view type = memory_type(nest().parameters[i]);
    all.push_back(planned_.by_value[i] ? fmt::format("const {} p{}", type, i)
                                       : fmt::format("const {}* p{}", type, i));
  }
  for (size_t i = 0; i < nest().results.size(); ++i) {
    all.push_back(fmt::format("{}* r{}", memory_type(planned_.results[i]), i));
  }
  for (size_t i = 0; i < planned_.sizes.size(); ++i) all.push_back(fmt::format("const i64 a{}", i));
  return fmt::format("{}", fmt::join(all, ", "));
}

void NestText::begin_kernel(std::string_view name, int threads, std::string_view more) {
  line("typedef {} Index;", variant_.has_wide_index ? "i64" : "i32");
  line("typedef {} UnsignedIndex;", variant_.has_wide_index ? "u64" : "u32");
  open("extern \"C\" __global__ void __launch_bounds__({}) {}({}{}{}) {{", threads, name,
       parameters(), more.empty() ? "" : ", ", more);
  for (size_t i = 0; i < planned_.sizes.size(); ++i) line("const Index s{0} = (Index)a{0};", i);
  line("constexpr int kVector = {};", variant_.vector);
  line("constexpr bool kAligned = {};", variant_.is_aligned);
  line("const Index columns = {};", size(nest().columns));
}

void NestText::declare_indices(size_t first, size_t end, std::string_view number,
                               std::string_view suffix) {
  if (first == end) return;
  std::string rest(number);
  for (size_t k = end; k-- > first + 1;) {
    const std::string next = fmt::format("rest{}{}", k, suffix), extent = size(nest().outer[k]);
    line("const Index {} = (Index)((UnsignedIndex){} / (UnsignedIndex){});", next, rest, extent);
    line("const Index i{}{} = {} - {} * {};", k, suffix, rest, next, extent);
    rest = next;
  }
  line("const Index i{}{} = {};", first, suffix, rest);
}

// ---- Values.

std::vector<uint32_t> NestText::values_of(std::span<const uint32_t> roots, uint32_t stage,
                                          bool has_buffers) const {
  std::vector<bool> seen(nest().values.size(), false);
  std::vector<uint32_t> open(roots.begin(), roots.end()), found;
  while (!open.empty()) {
    const uint32_t v = open.back();
    open.pop_back();
    const NestValue& value = nest().values[v];
    if (!value.has_columns || seen[v]) continue;
    seen[v] = true;
    found.push_back(v);
    if (has_buffers && planned_.plan.buffers[v] && planned_.plan.home[v] < stage) continue;
    open.insert(open.end(), value.operands.begin(), value.operands.end());
  }
  std::ranges::sort(found);
  return found;
}

bool NestText::guards_columns(const NestValue& value) const {
  return std::ranges::any_of(
      value.domains, [&](const Domain& domain) { return domain.dimension == nest().outer.size(); });
}

std::string NestText::domains_text(const NestValue& value, std::string_view column,
                                   std::string_view suffix, bool with_columns) const {
  std::vector<std::string> tests;
  for (const Domain& domain : value.domains) {
    if (!with_columns && domain.dimension == nest().outer.size()) continue;
    const std::string index = index_text(domain.dimension, column, suffix);
    tests.push_back(
        fmt::format("{0} >= {1} && {0} < {2}", index, size(domain.low), size(domain.high)));
  }
  return tests.empty() ? "" : fmt::format("{}", fmt::join(tests, " && "));
}

void NestText::declare_loads(std::span<const uint32_t> values, std::string_view suffix) {
  for (const uint32_t v : values) {
    const NestValue& value = nest().values[v];
    if (value.kind != Kind::load || planned_.by_value[value.parameter]) continue;
    line("Vector<{}, kVector> l{}{};", memory_type(value.dtype), v, suffix);
  }
}

void NestText::load(std::span<const uint32_t> values, std::string_view suffix) {
  for (const uint32_t v : values) {
    const NestValue& value = nest().values[v];
    if (value.kind == Kind::load && !planned_.by_value[value.parameter]) load_one(v, suffix);
  }
}

// Elements outside of a domain are never read.
void NestText::load_one(uint32_t v, std::string_view suffix) {
  const NestValue& value = nest().values[v];
  const std::string first = fmt::format("column{}", suffix), own = fmt::format("l{}{}", v, suffix);
  const std::string fill = value.domains.empty()
                               ? ""
                               : fmt::format("Memory<{}>::write({})", memory_type(value.dtype),
                                             constant_text(value.dtype, value.number));
  if (is_dense(value.place) && !guards_columns(value)) {
    const std::string test = domains_text(value, first, suffix, false);
    const std::string text =
        fmt::format("load_vector<kAligned>({}, p{} + ({}), columns - {});", own, value.parameter,
                    place(value.place, first, suffix), first);
    if (test.empty()) return line("{}", text);
    line("if ({}) {}", test, text);
    return line("else for (int e = 0; e < kVector; ++e) {}.at[e] = {};", own, fill);
  }
  const std::string column = fmt::format("({} + e)", first);
  const std::string test = domains_text(value, column, suffix, true);
  line("#pragma unroll");
  open("for (int e = 0; e < kVector; ++e) {{");
  const std::string element =
      fmt::format("p{}[{}]", value.parameter, place(value.place, column, suffix));
  line("if ({} < columns) {}.at[e] = {};", column, own,
       test.empty() ? element : fmt::format("{} ? {} : {}", test, element, fill));
  close();
}

std::string NestText::row_load(const NestValue& value, std::string_view suffix) const {
  if (planned_.by_value[value.parameter]) return fmt::format("read(p{})", value.parameter);
  const std::string element =
      fmt::format("read(p{}[{}])", value.parameter, place(value.place, "0", suffix));
  const std::string test = domains_text(value, "0", suffix, true);
  return test.empty()
             ? element
             : fmt::format("{} ? {} : {}", test, element, constant_text(value.dtype, value.number));
}

std::string NestText::value_text(uint32_t v, std::string_view column,
                                 std::string_view suffix) const {
  const NestValue& value = nest().values[v];
  switch (value.kind) {
    case Kind::number: return constant_text(value.dtype, value.number);
    case Kind::size:
      return fmt::format("convert<{}>((i64){})", memory_type(value.dtype), size(value.size));
    case Kind::index:
      return fmt::format("convert<{}>((i64)({}))", memory_type(value.dtype),
                         place(value.place, column, suffix));
    case Kind::compute: {
      std::vector<std::string> operands;
      std::vector<DType> dtypes;
      for (const uint32_t operand : value.operands) {
        operands.push_back(fmt::format("v{}", operand));
        dtypes.push_back(nest().values[operand].dtype);
      }
      return operation_text(*value.primitive, value.dtype, operands, dtypes);
    }
    case Kind::load:
    case Kind::reduce: break;
  }
  return row_load(value, suffix);
}

void NestText::row_values(uint32_t stage, std::string_view suffix) {
  for (const uint32_t v : planned_.plan.row_values) {
    const NestValue& value = nest().values[v];
    if (planned_.plan.stage[v] != stage || value.kind == Kind::reduce) continue;
    line("const {} v{} = {};", value_type(value.dtype), v, value_text(v, "0", suffix));
  }
}

void NestText::column_values(std::span<const uint32_t> values, std::string_view suffix,
                             uint32_t stage, bool has_buffers) {
  for (const uint32_t v : values) {
    const NestValue& value = nest().values[v];
    const bool is_kept = has_buffers && planned_.plan.buffers[v] && planned_.plan.home[v] < stage;
    const bool is_loaded = value.kind == Kind::load && !planned_.by_value[value.parameter];
    const std::string text = is_kept     ? fmt::format("k{}[c]", *planned_.plan.buffers[v])
                             : is_loaded ? fmt::format("read(l{}{}.at[e])", v, suffix)
                                         : value_text(v, "c", suffix);
    line("const {} v{} = {};", value_type(value.dtype), v, text);
  }
}

// ---- Results.

std::string NestText::written(uint32_t result) const {
  const DType dtype = planned_.results[result], from = planned_.value_dtype(result);
  const std::string value = fmt::format("v{}", nest().results[result].value);
  // A narrow float is rounded by the store itself.
  const bool is_same = value_type(from) == value_type(dtype);
  return fmt::format("Memory<{0}>::write({1})", memory_type(dtype),
                     is_same ? value : fmt::format("convert<{}>({})", memory_type(dtype), value));
}

void NestText::declare_stores(std::span<const uint32_t> results) {
  for (const uint32_t r : results) {
    if (!is_dense(nest().results[r].place)) continue;
    line("Vector<{}, kVector> w{};", memory_type(planned_.results[r]), r);
  }
}

void NestText::element(uint32_t result, std::string_view suffix) {
  const Affine& where = nest().results[result].place;
  if (is_dense(where)) return line("w{}.at[e] = {};", result, written(result));
  line("if (c < columns) r{}[{}] = {};", result, place(where, "c", suffix), written(result));
}

void NestText::store(std::span<const uint32_t> results, std::string_view suffix) {
  const std::string first = fmt::format("column{}", suffix);
  for (const uint32_t r : results) {
    const Affine& where = nest().results[r].place;
    if (!is_dense(where)) continue;
    line("store_vector<kAligned>(w{0}, r{0} + ({1}), columns - {2});", r,
         place(where, first, suffix), first);
  }
}

void NestText::store_of_row(uint32_t result, std::string_view suffix) {
  line("r{}[{}] = {};", result, place(nest().results[result].place, "0", suffix), written(result));
}

}  // namespace plait::cuda
