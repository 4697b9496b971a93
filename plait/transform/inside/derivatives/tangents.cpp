#include "plait/transform/inside/derivatives/tangents.h"

#include <unordered_map>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/deep_stack.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/forms/calls/recursive_function.h"
#include "plait/transform/inside/forms/records/declared_records.h"
#include "plait/transform/inside/forms/records/record_forms.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

// ---- Records.

// TypeError if the type has no derivative.
Tensor zero_record(const ir::Type& type) {
  if (is_of_user(type)) return records::absent(record_named(type.record_name()));
  if (is_optional_of_user(type)) {
    return records::absent(record_named(type.element().record_name()));
  }
  if (type.is_optional() && Trace::current() != nullptr) {
    return Trace::current()->record(
        {.primitive = ir::primitive(ir::Structure::absent), .stated_types = {&type, 1}})[0];
  }
  throw TypeError("a {} has no derivative", type.text()).at(Location::of_caller());
}

Tensors fields_of(const ir::RecordType& record, const Tensor& given) {
  return records::unpacked(record, records::unwrapped(given));
}

Tensor sum_of_fields(const ir::RecordType& record, const Tensor& a, const Tensor& b) {
  const Tensors left = fields_of(record, a), right = fields_of(record, b);
  Tensors sums;
  for (size_t i = 0; i < left.size(); ++i) {
    sums.push_back(has_tangent(left[i]) ? sum_of(left[i], right[i]) : left[i]);
  }
  return records::present(records::packed(record, sums));
}

Tensor sum_now(const Tensor& a, const Tensor& b) {
  return with_enough_stack([&] {
    if (!a.record().is_present()) return b;
    if (!b.record().is_present()) return a;
    return sum_of_fields(record_of(a), a, b);
  });
}

// In a trace the sum is a recursive function.
OpenRecursion::Key key_of_sum(const ir::RecordType& record) { return {&record, "sum"}; }

StagedFunction staged_sum(const ir::RecordType& record) {
  thread_local std::unordered_map<const ir::RecordType*, StagedFunction> staged;
  const auto place = staged.find(&record);
  if (place != staged.end()) return place->second;
  OpenRecursion open(key_of_sum(record), "add_" + record.name, {2, type_of(record)});
  StagedFunction function = open.stage([&](std::span<const Tensor> given) {
    const auto fieldwise = [&](std::span<const Tensor> both) {
      return Tensors{sum_of_fields(record, both[0], both[1])};
    };
    const auto second = [](std::span<const Tensor> both) { return Tensors{both[1]}; };
    const auto first = [](std::span<const Tensor> both) { return Tensors{both[0]}; };
    const auto where_first = [&](std::span<const Tensor> both) {
      return control::cond(records::is_present(both[1]), fieldwise, first, both);
    };
    return control::cond(records::is_present(given[0]), where_first, second, given);
  });
  if (!has_open_calls(function.program)) staged.emplace(&record, function);
  return function;
}

// The sum is linear, so its derivative is the sum of the tangents, and each term receives the
// cotangent.
Tensor sum_followed(const Tensor& a, const Tensor& b, Tensor sum) {
  return follow_custom(
      {.inputs = {a, b},
       .residuals = {},
       .results = {std::move(sum)},
       .backward = [](auto cotangents,
                      const Node::Kept&) { return Tensors{cotangents[0], cotangents[0]}; },
       .forward = [](auto tangents, const Node::Kept&,
                     uint64_t) { return Tensors{sum_of(tangents[0], tangents[1])}; }})[0];
}

Tensor sum_in_trace(const Tensor& a, const Tensor& b) {
  const ir::RecordType& record = record_of(a);
  const Tensor both[] = {a, b};
  const std::vector<ir::Type> types = ir_types_of(both);
  if (OpenRecursion* const open = OpenRecursion::find(key_of_sum(record), types)) {
    return open->call(both)[0];
  }
  const StagedFunction function = staged_sum(record);
  const Tensor plain[] = {underived(a), underived(b)};
  Tensor sum = RecursiveFunction(function.program, *function.function).record_call(plain)[0];
  return is_followed(both) ? sum_followed(a, b, std::move(sum)) : sum;
}

Tensor sum_of_records(const Tensor& a, const Tensor& b) {
  return Trace::current() == nullptr ? sum_now(a, b) : sum_in_trace(a, b);
}

}  // namespace

bool has_tangent(const Tensor& tensor) {
  return tensor.is_array() ? is_inexact(tensor.dtype()) : ir::has_tangent(tensor.type());
}

Tensor zeros_of(const OperandType& type) {
  if (!type.is_array()) return zero_record(type.type());
  const DeviceScope there(type.device());
  return is_inexact(type.dtype()) ? zeros(type.shape(), type.dtype()) : Tensor();
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  if (!a || !b) return a ? a : b;
  return a.is_array() ? add(a, b) : sum_of_records(a, b);
}

}  // namespace plait
