// Schedules whose results are accumulated over rows, and the joining of their parts.
#include "plait/cuda/inside/nests/operations.h"
#include "plait/cuda/inside/nests/stage_text.h"

namespace plait::cuda {
namespace {

using compile::Nest;
using compile::ResultKind;

// Memory for the parts of each accumulated result, and how the work is split.
std::string more_parameters(const PlannedNest& planned) {
  std::string text;
  for (size_t r = 0; r < planned.nest.results.size(); ++r) {
    if (!planned.is_accumulated(r)) continue;
    text += fmt::format("{}* q{}, ", value_type(planned.value_dtype(r)), r);
  }
  return text + "const i64 part_count, const i64 rows_of_part, const i64 column_blocks";
}

// The group and the part of this block, and the rows [first, end) of the part.
void declare_part(NestText& text) {
  const Nest& nest = text.nest();
  text.line("const Index group_rows = {};",
            text.product(std::span(nest.outer).subspan(nest.grouped)));
  text.line("const Index column_block = blockIdx.x % (u32)column_blocks;");
  text.line("const Index of_grid = blockIdx.x / (u32)column_blocks;");
  text.line("const Index group = of_grid / (Index)part_count;");
  text.line("const Index part = of_grid - group * (Index)part_count;");
  text.line("const Index first = part * (Index)rows_of_part;");
  text.line("const Index end = min(first + (Index)rows_of_part, group_rows);");
  text.declare_indices(0, nest.grouped, "group");
}

void declare_totals(NestText& text) {
  for (size_t r = 0; r < text.nest().results.size(); ++r) {
    if (!text.planned().is_accumulated(r) || is_by_column(text.planned(), r)) continue;
    const DType dtype = text.planned().value_dtype(r);
    text.line("{} t{} = {};", value_type(dtype), r,
              identity_text(text.nest().results[r].reduction, dtype));
  }
}

class ColumnsText {
 public:
  ColumnsText(const PlannedNest& planned, const TextVariant& variant, int lanes)
      : planned_(planned), text_(planned, variant), lanes_(lanes) {
    std::vector<uint32_t> roots;
    for (uint32_t r = 0; r < planned.nest.results.size(); ++r) {
      roots.push_back(planned.nest.results[r].value);
      if (planned.plan.result_kinds[r] == ResultKind::stored) stored_.push_back(r);
    }
    values_ = text_.values_of(roots, 0, false);
  }

  std::string text(const std::string& name) {
    text_.begin_kernel(name, kBlockThreads, more_parameters(planned_));
    text_.line("const int lane = threadIdx.x % {0}, of_block = threadIdx.x / {0};", lanes_);
    text_.line("__shared__ c128 joins[{}];", kBlockThreads / 32);
    declare_part(text_);
    declare_totals(text_);
    text_.open(
        "for (Index column = (column_block * {0} + lane) * kVector; column < columns; "
        "column += (Index)column_blocks * {0} * kVector) {{",
        lanes_);
    print_columns();
    text_.close();
    print_totals();
    text_.close();
    return text_.take();
  }

 private:
  ResultKind kind(uint32_t r) const { return planned_.plan.result_kinds[r]; }
  std::string_view reduction(uint32_t r) const {
    return reduction_type(planned_.nest.results[r].reduction);
  }
  uint32_t value(uint32_t r) const { return planned_.nest.results[r].value; }
  template <class Visit>
  void each(ResultKind wanted, const Visit& visit) const {
    for (uint32_t r = 0; r < planned_.nest.results.size(); ++r) {
      if (kind(r) == wanted) visit(r);
    }
  }

  void print_columns() {
    each(ResultKind::accumulated, [&](uint32_t r) {
      const DType dtype = planned_.value_dtype(r);
      text_.line("{} t{}[kVector];", value_type(dtype), r);
      text_.line("for (int e = 0; e < kVector; ++e) t{}[e] = {};", r,
                 identity_text(planned_.nest.results[r].reduction, dtype));
    });
    if (stored_.empty()) text_.line("#pragma unroll 4");
    text_.open("for (Index row = first + of_block; row < end; row += {}) {{",
               kBlockThreads / lanes_);
    print_row();
    text_.close();
    each(ResultKind::accumulated, [&](uint32_t r) {
      text_.line("for (int e = 0; e < kVector; ++e)");
      text_.line(
          "  if (column + e < columns) q{0}[((group * (Index)part_count + part) * {1} + "
          "of_block) * columns + column + e] = t{0}[e];",
          r, kBlockThreads / lanes_);
    });
  }

  void print_row() {
    text_.declare_indices(planned_.nest.grouped, planned_.nest.outer.size(), "row");
    text_.declare_loads(values_, "");
    text_.load(values_, "");
    text_.declare_stores(stored_);
    text_.row_values(0);
    text_.line("#pragma unroll");
    text_.open("for (int e = 0; e < kVector; ++e) {{");
    text_.line("const Index c = column + e;");
    text_.line("if (kVector > 1 && c >= columns) break;");
    text_.column_values(values_, "");
    each(ResultKind::accumulated, [&](uint32_t r) {
      text_.line("t{0}[e] = {1}::of(t{0}[e], v{2});", r, reduction(r), value(r));
    });
    each(ResultKind::accumulated_whole,
         [&](uint32_t r) { text_.line("t{0} = {1}::of(t{0}, v{2});", r, reduction(r), value(r)); });
    for (const uint32_t r : stored_) text_.element(r, "");
    text_.close();
    text_.store(stored_, "");
    // Numbers of the row, by the threads of its first columns.
    each(ResultKind::accumulated_once, [&](uint32_t r) {
      text_.line("if (column == 0) t{0} = {1}::of(t{0}, v{2});", r, reduction(r), value(r));
    });
    each(ResultKind::stored_once, [&](uint32_t r) {
      text_.open("if (column == 0) {{");
      text_.store_of_row(r, "");
      text_.close();
    });
  }

  void print_totals() {
    for (uint32_t r = 0; r < planned_.nest.results.size(); ++r) {
      if (!planned_.is_accumulated(r) || is_by_column(planned_, r)) continue;
      text_.line("t{0} = join_block<{1}, {2}>(t{0}, joins);", r, reduction(r), kBlockThreads);
      text_.line("if (threadIdx.x == 0) q{0}[blockIdx.x] = t{0};", r);
    }
  }

  const PlannedNest& planned_;
  NestText text_;
  int lanes_;
  std::vector<uint32_t> stored_, values_;
};

}  // namespace

bool is_by_column(const PlannedNest& planned, size_t result) {
  return planned.plan.result_kinds[result] == ResultKind::accumulated;
}

std::string columns_text(const PlannedNest& planned, const TextVariant& variant,
                         const std::string& name, int lanes) {
  return ColumnsText(planned, variant, lanes).text(name);
}

// The sums of columns stay in the work memory of the part, each written by one thread.
std::string both_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name, const RowSchedule& schedule) {
  NestText text(planned, variant);
  StageText stages(text, schedule);
  const Nest& nest = planned.nest;
  text.begin_kernel(name, kBlockThreads, more_parameters(planned));
  stages.declare();
  declare_part(text);
  text.line("const Index slot = of_grid * {} + of_block;", schedule.rows());
  declare_totals(text);
  for (size_t r = 0; r < nest.results.size(); ++r) {
    if (!is_by_column(planned, r)) continue;
    text.line(
        "for (Index column = (Index)lane * kVector; column < columns; column += {} * kVector)",
        schedule.lanes);
    text.line("  for (int e = 0; e < kVector; ++e)");
    text.line("    if (column + e < columns) q{}[slot * columns + column + e] = {};", r,
              identity_text(nest.results[r].reduction, planned.value_dtype(r)));
  }
  text.open("for (Index row = first + of_block; row < end; row += {}) {{", schedule.rows());
  text.declare_indices(nest.grouped, nest.outer.size(), "row");
  stages.print();
  text.close();
  for (size_t r = 0; r < nest.results.size(); ++r) {
    if (!planned.is_accumulated(r) || is_by_column(planned, r)) continue;
    const bool once = planned.plan.result_kinds[r] == ResultKind::accumulated_once;
    const std::string total = fmt::format("t{}", r);
    text.line("const {} whole{} = {};", value_type(planned.value_dtype(r)), r,
              once ? total : stages.joined(reduction_type(nest.results[r].reduction), total));
    text.line("if (lane == 0) q{0}[slot] = whole{0};", r);
  }
  text.close();
  return text.take();
}

std::string join_text(const PlannedNest& planned, bool has_wide_index, const std::string& name,
                      size_t result, bool by_warps) {
  NestText text(planned, {.has_wide_index = has_wide_index});
  const Nest& nest = planned.nest;
  const DType dtype = planned.value_dtype(result);
  const std::string_view type = value_type(dtype);
  const std::string reduction(reduction_type(nest.results[result].reduction));
  const bool by_column = is_by_column(planned, result);
  text.begin_kernel(name, kBlockThreads, fmt::format("const {}* q, const i64 parts", type));
  text.line("const Index n = ((Index)blockIdx.x * {} + threadIdx.x) / {};", kBlockThreads,
            by_warps ? 32 : 1);
  text.line("const int lane = {};", by_warps ? "threadIdx.x % 32" : "0");
  text.line("const Index width = {};", by_column ? "columns" : "1");
  text.line("if (n >= {} * width) return;",
            text.product(std::span(nest.outer).first(nest.grouped)));
  text.line("const Index group = n / width, column = n - group * width;");
  text.declare_indices(0, nest.grouped, "group");
  text.line("{} x = {};", type, identity_text(nest.results[result].reduction, dtype));
  text.line("for (Index part = lane; part < (Index)parts; part += {})", by_warps ? 32 : 1);
  text.line("  x = {}::of(x, q[(group * (Index)parts + part) * width + column]);", reduction);
  text.line("const {} v{} = {};", type, nest.results[result].value,
            by_warps ? fmt::format("join_warp<{}>(x)", reduction) : "x");
  text.line("if (lane == 0) r{}[{}] = {};", result,
            text.place(nest.results[result].place, "column"),
            text.written(static_cast<uint32_t>(result)));
  text.close();
  return text.take();
}

}  // namespace plait::cuda
