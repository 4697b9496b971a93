#include "plait/cuda/inside/nests/nest_schedules.h"

namespace plait::cuda {
namespace {

using compile::ResultKind;

class FlatText {
 public:
  FlatText(const PlannedNest& planned, const TextVariant& variant)
      : planned_(planned),
        text_(planned, variant),
        vectors_(variant.vector == 1 ? kFlatElements : kFlatVectors) {
    std::vector<uint32_t> roots;
    for (uint32_t r = 0; r < planned.nest.results.size(); ++r) {
      const bool once = planned.plan.result_kinds[r] == ResultKind::stored_once;
      (once ? once_ : stored_).push_back(r);
      roots.push_back(planned.nest.results[r].value);
    }
    values_ = text_.values_of(roots, 0, false);
  }

  std::string text(const std::string& name) {
    text_.begin_kernel(name, kBlockThreads);
    text_.line("const Index vectors = (columns + kVector - 1) / kVector;");
    text_.line("const Index total = {} * vectors;", text_.product(planned_.nest.outer));
    for (int k = 0; k < vectors_; ++k) load(k);
    for (int k = 0; k < vectors_; ++k) compute(k);
    text_.close();
    return text_.take();
  }

 private:
  // All loads come before all stores, so that several are in flight.
  void load(int k) {
    const std::string own = fmt::format("_{}", k);
    text_.line("const Index n{} = ((Index)blockIdx.x * {} + {}) * {} + threadIdx.x;", own, vectors_,
               k, kBlockThreads);
    if (planned_.nest.outer.empty()) {
      text_.line("const Index column{0} = n{0} * kVector;", own);
    } else {
      text_.line("const Index row{0} = (Index)((UnsignedIndex)n{0} / (UnsignedIndex)vectors);",
                 own);
      text_.line("const Index column{0} = (n{0} - row{0} * vectors) * kVector;", own);
      text_.declare_indices(0, planned_.nest.outer.size(), "row" + own, own);
    }
    text_.declare_loads(values_, own);
    text_.open("if (n{} < total) {{", own);
    text_.load(values_, own);
    text_.close();
  }

  void compute(int k) {
    const std::string own = fmt::format("_{}", k);
    text_.open("if (n{} < total) {{", own);
    text_.declare_stores(stored_);
    text_.row_values(0, own);
    text_.line("#pragma unroll");
    text_.open("for (int e = 0; e < kVector; ++e) {{");
    text_.line("const Index c = column{} + e;", own);
    text_.column_values(values_, own);
    for (const uint32_t r : stored_) text_.element(r, own);
    text_.close();
    text_.store(stored_, own);
    if (!once_.empty()) {
      text_.open("if (column{} == 0) {{", own);
      for (const uint32_t r : once_) text_.store_of_row(r, own);
      text_.close();
    }
    text_.close();
  }

  const PlannedNest& planned_;
  NestText text_;
  int vectors_;
  std::vector<uint32_t> stored_, once_, values_;
};

}  // namespace

std::string flat_text(const PlannedNest& planned, const TextVariant& variant,
                      const std::string& name) {
  return FlatText(planned, variant).text(name);
}

}  // namespace plait::cuda
