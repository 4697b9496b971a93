// Rewrites towards the forms that libraries do best. A sum over a batch of products is one product
// with a longer inner dimension. A transposed product is the product of the transposed operands.
// The gradients of weights have these forms, and get the layout of the weights.
#include <algorithm>

#include "plait/compile/inside/nests/region.h"
#include "plait/compile/inside/passes/rewrite_rules.h"
#include "plait/compile/pass.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using ir::Candidate;
using ir::Instruction;
using ir::Replacement;

// True if the axes are 0, …, count − 1.
bool are_leading(const std::vector<int64_t>& axes, size_t count) {
  if (axes.size() != count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (axes[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Adds instructions to a replacement.
class Making {
 public:
  explicit Making(Replacement& replacement) : replacement_(replacement) {}

  Replacement::Value reshaped(Replacement::Value x, std::vector<Dim> sizes) {
    return replacement_.add(reshape_primitive(), {x},
                            ir::Attributes::of(SizesAttributes{std::move(sizes)}));
  }
  Replacement::Value permuted(Replacement::Value x, std::vector<int64_t> axes) {
    return replacement_.add(permute_primitive(), {x},
                            ir::Attributes::of(PermuteAttributes{std::move(axes)}));
  }
  Replacement::Value product(Replacement::Value a, Replacement::Value b) {
    return replacement_.add(matmul_primitive(), {a, b});
  }

 private:
  Replacement& replacement_;
};

// sum over b of A[b, k, n] · B[b, n, m] = Aᵀ[k, b n] · B[b n, m]
std::optional<Replacement> one_product(const Candidate& c) {
  const auto product = c.definition(0);
  if (!product || &product->primitive() != &matmul_primitive()) return std::nullopt;
  const Shape &a = product->operand_type(0).shape(), &b = product->operand_type(1).shape();
  const size_t batch = a.rank() - std::min<size_t>(a.rank(), 2);
  if (batch == 0 || b.rank() != a.rank()) return std::nullopt;
  if (!are_leading(c.instruction.attributes.as<ReduceAttributes>().axes, batch)) {
    return std::nullopt;
  }
  Dim rows = a[batch + 1];
  std::vector<int64_t> turned;
  for (size_t i = 0; i < batch; ++i) {
    if (!same(a[i], b[i])) return std::nullopt;
    rows = rows * a[i];
    turned.push_back(static_cast<int64_t>(i));
  }
  turned.push_back(static_cast<int64_t>(batch) + 1);
  turned.push_back(static_cast<int64_t>(batch));
  Replacement replacement;
  Making make(replacement);
  const auto left = make.reshaped(make.permuted(product->operands()[0], turned), {rows, a[batch]});
  const auto right = make.reshaped(product->operands()[1], {rows, b[batch + 1]});
  replacement.give({make.product(make.permuted(left, {1, 0}), right)});
  return replacement;
}

// Replaces (a · b)ᵀ by bᵀ · aᵀ, also with a conversion between, if nothing else reads the product.
class TransposedProducts {
 public:
  TransposedProducts(const ir::Function& function, const ir::Declarations& declarations)
      : function_(function),
        builder_(function.name(), declarations),
        copier_(function, builder_),
        reads_(function.value_count()) {
    for (const Instruction instruction : function.instructions()) {
      for (const ir::ValueId operand : instruction.operands()) ++reads_[operand];
    }
    for (const ir::ValueId result : function.results()) ++reads_[result];
  }

  // Returns null if there are none.
  std::shared_ptr<const ir::Function> run() {
    copier_.begin();
    bool is_changed = false;
    for (const Instruction instruction : function_.instructions()) {
      if (is_transposition(instruction) && turn(instruction)) {
        is_changed = true;
      } else {
        copier_.copy(instruction);
      }
    }
    return is_changed ? copier_.finish() : nullptr;
  }

 private:
  // The instruction that defines the value, if it has only one reader.
  std::optional<Instruction> maker(ir::ValueId value, const ir::Primitive& primitive) const {
    const auto from = function_.definition(value);
    const bool is_it = from && &from->primitive() == &primitive && reads_[value] == 1;
    return is_it ? from : std::nullopt;
  }

  bool turn(const Instruction& permute) {
    ir::ValueId value = permute.operands()[0];
    const auto conversion = maker(value, convert_primitive());
    if (conversion) value = conversion->operands()[0];
    const auto product = maker(value, matmul_primitive());
    if (!product) return false;
    const auto like = [&](const Instruction& instruction, std::vector<ir::ValueId> operands) {
      return builder_.add({.primitive = instruction.primitive(),
                           .operands = operands,
                           .attributes = instruction.attributes(),
                           .location = permute.location()})[0];
    };
    const auto turned = [&](size_t operand) {
      return like(permute, {copier_.value(product->operands()[operand])});
    };
    ir::ValueId result = like(*product, {turned(1), turned(0)});
    if (conversion) result = like(*conversion, {result});
    copier_.set(permute.result(), result);
    return true;
  }

  const ir::Function& function_;
  ir::FunctionBuilder builder_;
  ir::Copier copier_;
  std::vector<uint32_t> reads_;
};

}  // namespace

ir::Program with_libraries(const ir::Program& program) {
  std::vector<ir::RewriteRule> rules = simplifying_rules();
  rules.push_back({"one product", &reduce_sum_primitive(), one_product});
  const ir::Program rewritten = ir::prune(ir::Rewriter(std::move(rules)).rewrite(program));
  const ir::Declarations declarations = ir::declarations_of(rewritten);
  std::vector<std::shared_ptr<const ir::Function>> functions(rewritten.functions().begin(),
                                                             rewritten.functions().end());
  for (auto& function : functions) {
    if (auto turned = TransposedProducts(*function, declarations).run())
      function = std::move(turned);
  }
  return simplified(ir::Program::of(std::move(functions),
                                    {rewritten.records().begin(), rewritten.records().end()}));
}

}  // namespace plait::compile
