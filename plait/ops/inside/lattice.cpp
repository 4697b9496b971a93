#include "plait/ops/inside/lattice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/ir/inference.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/scan.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

constexpr size_t kPredecessors = 3;  // number of predecessors of a state, one step before
constexpr double kNoPath = -std::numeric_limits<double>::infinity();

// ---- Evaluation. Sums are kept in f64 from step to step.

struct Summed {
  static constexpr double kNothing = 0;
  static double of(double begun, const std::array<double, kPredecessors>& from,
                   const std::array<double, kPredecessors>& before) {
    double sum = begun;
    for (size_t k = 0; k < kPredecessors; ++k) sum += from[k] * before[k];
    return sum;
  }
};

struct LogSummed {
  static constexpr double kNothing = kNoPath;
  static double of(double begun, const std::array<double, kPredecessors>& from,
                   const std::array<double, kPredecessors>& before) {
    std::array<double, kPredecessors + 1> terms{begun};
    for (size_t k = 0; k < kPredecessors; ++k) terms[k + 1] = from[k] + before[k];
    const double greatest = *std::ranges::max_element(terms);
    double sum = 0;
    for (const double term : terms) {
      if (std::isnan(term)) return term;
      if (term != kNoPath) sum += std::exp(term - greatest);
    }
    return std::isinf(greatest) ? greatest : greatest + std::log(sum);
  }
};

template <class Sum, class T>
class LatticeWalk {
 public:
  LatticeWalk(KernelCall& call, bool reverse) : reverse_(reverse) {
    const Sizes& sizes = call.types[0].sizes;
    const size_t rank = sizes.size();
    steps_ = sizes[rank - 2];
    states_ = sizes[rank - 1];
    count_ = 1;
    for (size_t i = 0; i + 2 < rank; ++i) count_ *= sizes[i];
    Array& out = call.results[0] = Array::empty(call.types[0].dtype, sizes);
    if (out.element_count() == 0) return;
    for (size_t i = 0; i <= kPredecessors; ++i) {
      dense_[i] = call.operands[i].contiguous();
      given_[i] = reinterpret_cast<const T*>(dense_[i].data());
    }
    out_ = reinterpret_cast<T*>(out.writable_data());
    parallel_chunks(count_, [&](int64_t lattice) { walk(lattice * steps_ * states_); });
  }

 private:
  void walk(int64_t offset) const {
    // The states are preceded by neutral elements, one per further predecessor.
    std::vector<double> before(static_cast<size_t>(states_) + kPredecessors - 1, Sum::kNothing);
    std::vector<double> now = before;
    for (int64_t step = 0; step < steps_; ++step) {
      const int64_t row = offset + (reverse_ ? steps_ - 1 - step : step) * states_;
      for (int64_t state = 0; state < states_; ++state) {
        const int64_t at = row + (reverse_ ? states_ - 1 - state : state);
        const auto place = static_cast<size_t>(state) + kPredecessors - 1;
        std::array<double, kPredecessors> from, held;
        for (size_t k = 0; k < kPredecessors; ++k) {
          from[k] = static_cast<double>(given_[k][at]);
          held[k] = before[place - k];
        }
        now[place] = Sum::of(static_cast<double>(given_[kPredecessors][at]), from, held);
        out_[at] = static_cast<T>(now[place]);
      }
      std::swap(before, now);
    }
  }

  bool reverse_;
  int64_t steps_ = 0, states_ = 0, count_ = 0;
  std::array<Array, kPredecessors + 1> dense_;
  std::array<const T*, kPredecessors + 1> given_{};
  T* out_ = nullptr;
};

template <class Sum>
void walk_now(KernelCall& call, const void*) {
  const bool reverse = call.attributes.as<LatticeAttributes>().reverse;
  if (call.types[0].dtype == DType::f32) {
    LatticeWalk<Sum, float>(call, reverse);
  } else {
    LatticeWalk<Sum, double>(call, reverse);
  }
}

// ---- Rules.

void infer_lattice(ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  if (in.operands[0].rank() < 2) {
    throw ShapeError("{}: {} has no dimensions for steps and states", in.primitive.name,
                     in.operands[0].text())
        .at(in.location);
  }
  for (size_t i = 1; i < in.operands.size(); ++i) in.expect_alike(in.operands[0], in.operands[i]);
  in.give(in.operands[0].without_sharding());
}

constexpr Reads kLatticeFroms = Reads::operand(0) | Reads::operand(1) | Reads::operand(2);
constexpr Reads kLatticeOperands = kLatticeFroms | Reads::operand(3);

bool is_reversed(const RuleContext& c) { return c.attributes.as<LatticeAttributes>().reverse; }

// The value of state s − k one step before, as an array over s; `nothing` where it does not exist.
Tensor come_from(const Tensor& x, size_t k, bool reverse, double nothing) {
  Tensor held = shifted(x, -2, reverse, nothing);
  for (size_t i = 0; i < k; ++i) held = shifted(held, -1, reverse, nothing);
  return held;
}

Tensor sum_of_given(const Tensor& a, const Tensor& b) { return a && b ? a + b : a ? a : b; }

// dh[t, s] = (d begun[t, s] + Σ d from_k[t, s] · h[t − 1, s − k]) + Σ from_k[t, s] · dh[t − 1, …]
std::vector<Tensor> tangents_of_recurrence(const RuleContext& c, std::span<const Tensor> tangents) {
  Tensor begun = tangents[kPredecessors];
  for (size_t k = 0; k < kPredecessors; ++k) {
    if (!tangents[k]) continue;
    begun = sum_of_given(begun, tangents[k] * come_from(c.result(), k, is_reversed(c), 0));
  }
  if (!begun) return {Tensor()};
  return {lattice_recurrence({c.operand(0), c.operand(1), c.operand(2), begun}, is_reversed(c))};
}

// The same recurrence in the other direction: h[t, s] contributes to h[t + 1, s + k] with the
// factor from_k[t + 1, s + k].
Tensor transpose_begun(const RuleContext& c, const Tensor& cotangent, size_t) {
  const bool back = !is_reversed(c);
  const auto turned = [&](size_t k) { return come_from(c.operand(k), k, back, 0); };
  return lattice_recurrence({turned(0), turned(1), turned(2), cotangent}, back);
}

// e^(part − whole) for part ≤ whole, or 0 if there is no path.
Tensor share_in(const Tensor& part, const Tensor& whole) {
  const Tensor is_nonempty = part > kNoPath, is_less = is_nonempty & (part < whole);
  return where(is_nonempty, exp(where(is_less, part, 0) - where(is_less, whole, 0)), 0);
}

// Each term of the logsumexp has its weight (softmax): dh[t, s] = weight · d begun[t, s] + Σ
// weight_k · (d from_k[t, s] + dh[t − 1, s − k])
std::vector<Tensor> tangents_of_logsumexp(const RuleContext& c, std::span<const Tensor> tangents) {
  const Tensor& h = c.result();
  std::array<Tensor, kPredecessors> shares;
  Tensor begun;
  if (tangents[kPredecessors])
    begun = share_in(c.operand(kPredecessors), h) * tangents[kPredecessors];
  for (size_t k = 0; k < kPredecessors; ++k) {
    shares[k] = share_in(c.operand(k) + come_from(h, k, is_reversed(c), kNoPath), h);
    if (tangents[k]) begun = sum_of_given(begun, shares[k] * tangents[k]);
  }
  if (!begun) return {Tensor()};
  return {lattice_recurrence({shares[0], shares[1], shares[2], begun}, is_reversed(c))};
}

template <const ir::Primitive& (*primitive)()>
std::vector<Tensor> batch_lattice(const ir::Attributes& attributes,
                                  std::span<const Tensor> operands,
                                  const std::vector<bool>& batched) {
  return apply_all(primitive(), all_batched(operands, batched), attributes);
}

struct LatticeTable {
  const ir::Primitive& recurrence =
      declare({.primitive = {.name = "lattice_recurrence",
                             .summary = "h[t, s] = begun[t, s] + Σ from_k[t, s]·h[t−1, s−k].",
                             .oracle = "loops over numpy.sum",
                             .attributes = &ir::schema_of<LatticeAttributes>(),
                             .operands = ir::exactly(kPredecessors + 1),
                             .takes = DTypeSet(DType::f32) | DType::f64,
                             .infer = infer_lattice},
               .rules = {.transposes = {{}, {}, {}, {kLatticeFroms, transpose_begun}},
                         .tangents = {kLatticeFroms | Reads::result(), tangents_of_recurrence},
                         .batching = {batch_lattice<lattice_recurrence_primitive>}},
               .evaluator = walk_now<Summed>});
  const ir::Primitive& logsumexp = declare(
      {.primitive = {.name = "lattice_logsumexp",
                     .summary = "h[t, s] = log(e^begun[t, s] + Σ e^(from_k[t, s] + h[t−1, s−k])).",
                     .oracle = "loops over NumPy's logaddexp.reduce",
                     .attributes = &ir::schema_of<LatticeAttributes>(),
                     .operands = ir::exactly(kPredecessors + 1),
                     .takes = DTypeSet(DType::f32) | DType::f64,
                     .infer = infer_lattice},
       .rules = {.tangents = {kLatticeOperands | Reads::result(), tangents_of_logsumexp},
                 .batching = {batch_lattice<lattice_logsumexp_primitive>}},
       .evaluator = walk_now<LogSummed>});
};
const LatticeTable& lattice_ops() {
  static const LatticeTable table;
  return table;
}

Tensor walked(const ir::Primitive& primitive, const Lattice& lattice, bool reverse) {
  return plait::apply(
      primitive, {lattice.from_itself, lattice.from_neighbour, lattice.from_second, lattice.begun},
      ir::Attributes::of(LatticeAttributes{reverse}));
}

}  // namespace

Tensor lattice_recurrence(const Lattice& lattice, bool reverse) {
  return walked(lattice_ops().recurrence, lattice, reverse);
}

Tensor lattice_logsumexp(const Lattice& lattice, bool reverse) {
  return walked(lattice_ops().logsumexp, lattice, reverse);
}

const ir::Primitive& lattice_recurrence_primitive() { return lattice_ops().recurrence; }
const ir::Primitive& lattice_logsumexp_primitive() { return lattice_ops().logsumexp; }

void register_lattice_ops() { lattice_ops(); }

}  // namespace plait
