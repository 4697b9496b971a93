// Building blocks of the schedules' texts (nest_schedules.h): the parameters of a kernel, the
// indices of a row, the values at its columns.
//
// In the text, p0, p1, … are parameters, r0, … results, s0, … sizes, i0, … the indices of the outer
// loops, `column` the first one of a vector of kVector columns, c the column of its element e, v0,
// … values.
#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "plait/compile/inside/nests/nest.h"
#include "plait/compile/inside/nests/nest_plan.h"

namespace plait::cuda {

// A nest as it is printed: with its plan, and what users of the text agree about.
struct PlannedNest {
  compile::Nest nest;
  compile::NestPlan plan;
  std::vector<Dim> sizes;      // the symbolic ones, each an argument
  std::vector<bool> by_value;  // by parameter
  std::vector<DType> results;  // dtypes in memory

  bool is_accumulated(size_t result) const {
    return nest.results[result].reduction != ir::Reduction::none;
  }
  DType value_dtype(size_t result) const { return nest.values[nest.results[result].value].dtype; }
};

// Choices that depend on sizes and addresses.
struct TextVariant {
  bool has_wide_index = false;  // 64 bits
  bool is_aligned = false;      // vectors of the dense ports are
  int vector = 1;               // columns that a thread computes together
};

class NestText {
 public:
  NestText(const PlannedNest& planned, const TextVariant& variant);

  // ---- Building blocks.
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    text_.append(2 * static_cast<size_t>(depth_), ' ');
    fmt::format_to(std::back_inserter(text_), format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  template <class... Arguments>
  void open(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    line(format, std::forward<Arguments>(arguments)...);
    ++depth_;
  }
  void close() {
    --depth_;
    line("}}");
  }
  std::string take() { return std::move(text_); }

  // ---- Sizes and places.
  std::string size(Dim dim) const;
  std::string product(std::span<const Dim> dims) const;
  // The place in memory, for this column; `suffix` is that of the indices ("_1").
  std::string place(const compile::Affine& place, std::string_view column,
                    std::string_view suffix = "") const;

  // ---- Parts of kernels.
  // "extern "C" __global__ …{", the sizes, and the constants kVector and columns. `more` are
  // further parameters.
  void begin_kernel(std::string_view name, int threads, std::string_view more = "");
  // Declares the indices [first, end) of the outer loops from `number` (counted over them).
  void declare_indices(size_t first, size_t end, std::string_view number,
                       std::string_view suffix = "");

  // ---- Values.
  // The needed values with columns, in order, that this loop computes: those on which the roots
  // depend, but for those in buffers of earlier loops.
  std::vector<uint32_t> values_of(std::span<const uint32_t> roots, uint32_t stage,
                                  bool has_buffers) const;
  // Vectors of loaded elements: declarations, and the loads. `suffix` as in place.
  void declare_loads(std::span<const uint32_t> values, std::string_view suffix);
  void load(std::span<const uint32_t> values, std::string_view suffix);
  // Values without columns of a stage, as constants.
  void row_values(uint32_t stage, std::string_view suffix = "");
  // Values of element e of the vector, at the column c.
  void column_values(std::span<const uint32_t> values, std::string_view suffix, uint32_t stage = 0,
                     bool has_buffers = false);
  // For a dense result: "w0.at[e] = …", to be stored by store(). Otherwise it is stored here.
  void element(uint32_t result, std::string_view suffix);
  void declare_stores(std::span<const uint32_t> results);
  void store(std::span<const uint32_t> results, std::string_view suffix);
  void store_of_row(uint32_t result, std::string_view suffix);
  std::string written(uint32_t result) const;  // its value as an element in memory

  const PlannedNest& planned() const { return planned_; }
  const compile::Nest& nest() const { return planned_.nest; }
  bool is_dense(const compile::Affine& place) const;

 private:
  std::string parameters() const;
  void load_one(uint32_t value, std::string_view suffix);
  std::string domains_text(const compile::NestValue& value, std::string_view column,
                           std::string_view suffix, bool with_columns) const;
  bool guards_columns(const compile::NestValue& value) const;
  std::string index_text(size_t dimension, std::string_view column, std::string_view suffix) const;
  std::string value_text(uint32_t value, std::string_view column, std::string_view suffix) const;
  std::string row_load(const compile::NestValue& value, std::string_view suffix) const;

  const PlannedNest& planned_;
  TextVariant variant_;
  int depth_ = 0;
  std::string text_;
};

}  // namespace plait::cuda
