#include "plait/compile/inside/nests/nest.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/ir/primitive.h"

namespace plait::compile {
namespace {

template <class Visit>
void visit_sizes(const Affine& place, const Visit& visit) {
  visit(place.offset);
  for (const Dim stride : place.strides) visit(stride);
}

template <class Visit>
void visit_sizes(const NestValue& value, const Visit& visit) {
  visit_sizes(value.place, visit);
  for (const Domain& domain : value.domains) {
    visit(domain.low);
    visit(domain.high);
  }
  visit(value.size);
}

// Writes sizes by index, so that names of symbols do not matter.
class Writer {
 public:
  explicit Writer(const Nest& nest) : nest_(nest) {
    const std::vector<Dim> sizes = nest.sizes();
    for (size_t i = 0; i < sizes.size(); ++i) numbers_.emplace(sizes[i], i);
  }

  std::string text() {
    write("nest over");
    for (size_t i = 0; i < nest_.outer.size(); ++i) {
      write(" {}{}", i == nest_.grouped ? "| " : "", text_of(nest_.outer[i]));
    }
    write(" x {}{}\n", text_of(nest_.columns), nest_.takes_column_range ? ", or some columns" : "");
    for (size_t i = 0; i < nest_.parameters.size(); ++i) {
      write("parameter {}: {}\n", i, name_of(nest_.parameters[i]));
    }
    for (size_t i = 0; i < nest_.values.size(); ++i) write_value(i, nest_.values[i]);
    for (const NestResult& result : nest_.results) {
      write("result %{} at {}", result.value, text_of(result.place));
      if (result.reduction != ir::Reduction::none) write(" | {}", text_of(result.reduction));
      write("\n");
    }
    return std::move(text_);
  }

 private:
  template <class... Arguments>
  void write(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
  }

  std::string text_of(Dim size) const {
    return size.is_number() ? std::to_string(size.number()) : fmt::format("s{}", numbers_.at(size));
  }
  std::string text_of(const Affine& place) const {
    std::string text = "[" + text_of(place.offset) + ";";
    for (const Dim stride : place.strides) text += " " + text_of(stride);
    return text + "]";
  }
  static std::string_view text_of(ir::Reduction reduction) {
    return ir::enumerator_names(reduction)[static_cast<size_t>(reduction)];
  }
  // The bits, since equal numbers may have different ones.
  static std::string text_of(DType dtype, const Element& number) {
    std::byte bytes[16] = {};
    store_element(dtype, number, bytes);
    std::string text = "0x";
    for (int64_t i = size_of(dtype); i-- > 0;) {
      text += fmt::format("{:02x}", static_cast<unsigned>(bytes[i]));
    }
    return text;
  }

  void write_value(size_t number, const NestValue& value) {
    write("%{} = {}{} ", number, name_of(value.dtype), value.has_columns ? "" : " a row");
    switch (value.kind) {
      case NestValue::Kind::load: write_load(value); break;
      case NestValue::Kind::number: write("{}", text_of(value.dtype, value.number)); break;
      case NestValue::Kind::size: write("size {}", text_of(value.size)); break;
      case NestValue::Kind::index: write("index {}", text_of(value.place)); break;
      case NestValue::Kind::compute:
        write("{}", value.primitive->name);
        for (const uint32_t operand : value.operands) write(" %{}", operand);
        break;
      case NestValue::Kind::reduce:
        write("{} along %{}", text_of(value.reduction), value.operands[0]);
        break;
    }
    write("\n");
  }
  void write_load(const NestValue& value) {
    write("load {} at {}", value.parameter, text_of(value.place));
    for (const Domain& domain : value.domains) {
      write(" if {} <= {} < {}", text_of(domain.low), domain.dimension, text_of(domain.high));
    }
    if (!value.domains.empty()) write(" else {}", text_of(value.dtype, value.number));
  }

  const Nest& nest_;
  std::unordered_map<Dim, size_t> numbers_;
  std::string text_;
};

}  // namespace

bool Nest::may_cut_columns() const {
  return std::ranges::none_of(
      values, [](const NestValue& value) { return value.kind == NestValue::Kind::reduce; });
}

std::vector<Dim> Nest::sizes() const {
  std::vector<Dim> result;
  const auto add = [&](Dim size) {
    if (!size.is_number() && std::ranges::find_if(result, is_same_as(size)) == result.end()) {
      result.push_back(size);
    }
  };
  for (const Dim size : outer) add(size);
  add(columns);
  for (const NestValue& value : values) visit_sizes(value, add);
  for (const NestResult& each : results) visit_sizes(each.place, add);
  return result;
}

std::string Nest::text() const { return Writer(*this).text(); }

}  // namespace plait::compile
