#include "plait/compile/inside/nests/region.h"

#include <algorithm>
#include <numeric>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/reductions/reduce.h"

namespace plait::compile {
namespace {

bool all_arrays(const ir::Instruction& instruction) {
  for (size_t i = 0; i < instruction.operands().size(); ++i) {
    if (!instruction.operand_type(i).is_array()) return false;
  }
  for (const ir::Type& type : instruction.result_types()) {
    if (!type.is_array()) return false;
  }
  return true;
}

bool is_one_number(const Literal& literal) {
  return literal.element_count() == 1 || literal.is_splat();
}

bool is_pointwise(const ir::Primitive& primitive) {
  return primitive.elementwise != ir::Elementwise::no || &primitive == &convert_primitive();
}

// f32 of one key: element e is computed from word e of the key's stream.
bool is_draw(const ir::Instruction& instruction) {
  if (&instruction.primitive() != &random_primitives().values) return false;
  const auto& attributes = instruction.attributes_as<RandomValuesAttributes>();
  return attributes.distribution == Distribution::uniform && attributes.dtype == DType::f32 &&
         instruction.operand_type(0).shape().rank() == 0;
}

}  // namespace

Role role_of(const ir::Instruction& instruction) {
  const ir::Primitive& primitive = instruction.primitive();
  if (instruction.result_count() != 1 || !all_arrays(instruction)) return Role::other;
  if (primitive.structure == ir::Structure::size) {  // a dtype that may lack it is checked apart
    return primitive.effects(instruction).pure() ? Role::number : Role::other;
  }
  if (primitive.structure == ir::Structure::literal) {
    const Literal& value = instruction.attributes_as<ir::LiteralAttributes>().value;
    return is_one_number(value) ? Role::number : Role::other;
  }
  if (primitive.structure != ir::Structure::machine) return Role::other;
  if (primitive.effects && !primitive.effects(instruction).pure()) return Role::other;
  if (&primitive == &iota_primitive()) return Role::number;
  if (primitive.index_map) return primitive.index_map(instruction) ? Role::view : Role::other;
  if (is_pointwise(primitive)) return Role::pointwise;
  if (&primitive == &matmul_primitive()) return Role::product;
  if (is_draw(instruction)) return Role::draw;
  return reduction_of(primitive) ? Role::reduction : Role::other;
}

Roles::Roles(const ir::Function& function) : function_(function) {
  roles_.reserve(function.size());
  for (const ir::Instruction instruction : function.instructions()) {
    roles_.push_back(role_of(instruction));
  }
}

ir::ValueId Roles::seen_through(ir::ValueId value) const {
  while (const auto definition = function_.definition(value)) {
    if (of(*definition) != Role::view) break;
    value = definition->operands()[0];
  }
  return value;
}

bool Roles::is_number(ir::ValueId seen) const {
  const auto definition = function_.definition(seen);
  return definition && of(*definition) == Role::number;
}

std::optional<uint32_t> Roles::source_of(ir::ValueId value) const {
  const ir::ValueId seen = seen_through(value);
  const auto definition = function_.definition(seen);
  if (!definition || of(*definition) == Role::number) return std::nullopt;
  return definition->index();
}

bool is_transposition(const ir::Instruction& instruction) {
  if (&instruction.primitive() != &permute_primitive()) return false;
  const auto& axes = instruction.attributes_as<PermuteAttributes>().axes;
  if (axes.size() < 2) return false;
  std::vector<int64_t> swapped(axes.size());
  std::iota(swapped.begin(), swapped.end(), int64_t{0});
  std::swap(swapped[swapped.size() - 2], swapped.back());
  return axes == swapped;
}

std::vector<TrailingProduct> trailing_products(const Roles& roles, const ir::Instruction& product) {
  using Kind = TrailingProduct::Kind;
  const auto operands = product.operands();
  const auto is_computed = [&](ir::ValueId value) {
    const auto from = roles.function().definition(value);
    return from && roles.is_computed(*from);
  };
  std::vector<TrailingProduct> found;
  if (is_computed(operands[0])) found.push_back({Kind::rows, operands[0], operands[1]});
  if (is_computed(operands[1])) found.push_back({Kind::sum_right, operands[1], operands[0]});
  const auto left = roles.function().definition(operands[0]);
  if (left && is_transposition(*left) && is_computed(left->operands()[0])) {
    found.push_back({Kind::sum_left, left->operands()[0], operands[1]});
  }
  return found;
}

namespace {

// The instructions of a kernel's function, by what it does with them.
class KernelParts {
 public:
  explicit KernelParts(const ir::Function& function) : function_(function), roles_(function) {
    find_reads();
    for (const ir::Instruction instruction : function.instructions()) {
      if (roles_.of(instruction) == Role::product) add_product(instruction);
      if (roles_.of(instruction) == Role::draw) draws_.push_back(instruction);
    }
    for (const ir::Instruction instruction : function.instructions()) {
      if (!is_rounding_of_product(instruction) && roles_.is_computed(instruction)) {
        members_.push_back(instruction.index());
      }
    }
    find_results();
  }

  KernelRegion region() && {
    if (!trailing_.empty() && products_.empty()) {
      throw CompileError("@{} has products of rows, but computes no rows of a product",
                         function_.name())
          .at(function_.location());
    }
    auto loops = nest_of(Region{roles_, members_, results_});
    if (!loops) {
      throw CompileError("@{} cannot be computed by one kernel", function_.name())
          .at(function_.location());
    }
    return {std::move(*loops),    std::move(products_), std::move(draws_),
            std::move(trailing_), std::move(results_),  own_results_};
  }

 private:
  // The values that loops read.
  void find_reads() {
    is_read_.resize(function_.value_count());
    for (const ir::Instruction instruction : function_.instructions()) {
      if (!roles_.is_computed(instruction)) continue;
      for (const ir::ValueId operand : instruction.operands()) {
        is_read_[roles_.seen_through(operand)] = true;
      }
    }
  }

  void add_product(const ir::Instruction& product) {
    if (is_read_[product.result()]) return products_.push_back(product);
    trailing_.push_back({product, trailing_products(roles_, product).at(0)});
  }

  bool is_rounding_of_product(const ir::Instruction& instruction) const {
    return std::ranges::any_of(products_, [&](const ir::Instruction& product) {
      const auto rounding = rounding_of(function_, product);
      return rounding && rounding->index() == instruction.index();
    });
  }

  void find_results() {
    for (const ir::ValueId result : function_.results()) {
      const auto definition = function_.definition(result);
      if (!definition || roles_.of(*definition) != Role::product) results_.push_back(result);
    }
    own_results_ = static_cast<uint32_t>(results_.size());
    for (const auto& [product, operands] : trailing_) {
      if (std::ranges::find(results_, operands.rows) == results_.end()) {
        results_.push_back(operands.rows);
      }
    }
  }

  const ir::Function& function_;
  const Roles roles_;
  std::vector<bool> is_read_;
  std::vector<ir::Instruction> products_, draws_;
  std::vector<KernelRegion::Trailing> trailing_;
  std::vector<uint32_t> members_;
  std::vector<ir::ValueId> results_;
  uint32_t own_results_ = 0;
};

}  // namespace

KernelRegion kernel_region(const ir::Function& function) { return KernelParts(function).region(); }

bool is_rounding(const ir::Instruction& instruction) {
  return &instruction.primitive() == &convert_primitive() &&
         instruction.operand_type(0).dtype() == DType::f32 &&
         instruction.result_types()[0].dtype() == DType::bf16;
}

std::optional<ir::Instruction> rounding_of(const ir::Function& function,
                                           const ir::Instruction& product) {
  const auto from = function.definition(product.operands()[1]);
  return from && is_rounding(*from) ? from : std::nullopt;
}

bool is_epilogue_of(const RegionNest& region, const ir::Instruction& product) {
  const Nest& nest = region.nest;
  const Shape& shape = product.result_types()[0].shape();
  const auto place = std::ranges::find(region.parameters, product.result());
  if (place == region.parameters.end()) return false;
  for (const NestResult& result : nest.results) {
    if (result.reduction != ir::Reduction::none) return false;
  }
  // Its rows are the rows of the nest, or are contiguous within a single one.
  const bool is_flat = nest.outer.empty() && nest.may_cut_columns();
  if (!same(nest.columns, shape[shape.rank() - 1]) && !is_flat) return false;
  std::vector<Dim> strides{1};
  Dim points = nest.columns;
  for (size_t i = nest.outer.size(); i-- > 0;) {
    strides.insert(strides.begin(), points);
    points = points * nest.outer[i];
  }
  if (!same(points, shape.element_count())) return false;
  const auto parameter = static_cast<uint32_t>(place - region.parameters.begin());
  return std::ranges::all_of(nest.values, [&](const NestValue& value) {
    if (value.kind != NestValue::Kind::load || value.parameter != parameter) return true;
    return value.domains.empty() && same(value.place.offset, Dim(0)) &&
           std::ranges::equal(value.place.strides, strides, kSame);
  });
}

}  // namespace plait::compile
