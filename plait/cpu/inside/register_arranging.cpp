// Registers the kernels of this room for primitives that sort, scan and index.
#include <utility>

#include "plait/cpu/inside/kernel_registration.h"
#include "plait/cpu/inside/order/cpu_sort.h"
#include "plait/cpu/inside/reductions/cpu_scan.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/kernels.h"

namespace plait {
namespace {

constexpr std::pair<const ir::Primitive& (*)(), Scan> kScans[] = {
    {cumulative_sum_primitive, Scan::sum},
    {cumulative_product_primitive, Scan::product},
    {cumulative_maximum_primitive, Scan::maximum},
    {cumulative_minimum_primitive, Scan::minimum},
    {cumulative_logsumexp_primitive, Scan::logsumexp},
};

void run_scan(KernelCall& call, const void* data) {
  const auto& a = call.attributes.as<ScanAttributes>();
  const Array x = call.operands[0];
  scan(*static_cast<const Scan*>(data), x, a.axis, a.reverse, call.new_result(0));
}

void run_recurrence(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<ScanAttributes>();
  linear_recurrence(call.operands[0], call.operands[1], a.axis, a.reverse, call.new_result(0));
}

void run_sort(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<SortAttributes>();
  Array& values = call.new_result(0);
  sort(call.operands[0], a.axis, a.descending, values,
       a.values_only ? nullptr : &call.new_result(1));
}

void run_topk(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<TopkAttributes>();
  Array &values = call.new_result(0), &indices = call.new_result(1);
  topk(call.operands[0], a.axis, a.count.number(), a.largest, values, indices);
}

void run_search(KernelCall& call, const void*) {
  const bool behind = call.attributes.as<SearchAttributes>().side == SearchSide::right;
  search_sorted(call.operands[0], call.operands[1], behind, call.new_result(0));
}

void run_unique(KernelCall& call, const void*) {
  const bool equal_nan = call.attributes.as<UniqueAttributes>().equal_nan;
  Different different = different_of(call.operands[0], equal_nan);
  call.results[0] = std::move(different.values);
  call.results[1] = std::move(different.inverse);
  call.results[2] = std::move(different.counts);
  call.results[3] = std::move(different.first);
}

template <bool greatest>
void run_arg_extreme(KernelCall& call, const void*) {
  const int64_t axis = call.attributes.as<ArgExtremeAttributes>().axis;
  arg_extreme(call.operands[0], axis, greatest, call.new_result(0));
}

}  // namespace

void register_arranging_kernels() {
  for (const auto& [primitive, kind] : kScans) {
    register_kernel(primitive(), {run_scan, &kind});
  }
  register_kernel(linear_recurrence_primitive(), {run_recurrence});
  register_kernel(sort_primitive(), {run_sort});
  register_kernel(topk_primitive(), {run_topk});
  register_kernel(searchsorted_primitive(), {run_search});
  register_kernel(unique_primitive(), {run_unique});
  register_kernel(argmax_primitive(), {run_arg_extreme<true>});
  register_kernel(argmin_primitive(), {run_arg_extreme<false>});
}

}  // namespace plait
