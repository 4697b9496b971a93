#include "plait/cuda/inside/reductions/cuda_scan.h"

#include <array>
#include <utility>

#include "plait/core/inside/system/immortal.h"
#include "plait/cuda/inside/kernels/device_operands.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/reductions/rows_along.h"
#include "plait/cuda/inside/reductions/scan_text.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {
namespace {

constexpr int64_t kWideRows = 32;          // rows that lie side by side: a thread for each
constexpr int64_t kShort = 4;              // elements of a row, which one thread scans
constexpr int64_t kSharedElements = 1024;  // elements in shared memory

class Scan {
 public:
  Scan(KernelCall& call, ScanKind kind, const ScanAttributes& attributes)
      : device_(device_of(call)),
        place_(call.device),
        kind_(kind),
        x_(call.operands[0].contiguous()),
        second_(call.operands.size() > 1 ? call.operands[1].contiguous() : x_),
        result_(call.new_result(0)),
        along_(x_.sizes(), attributes.axis),
        reverse_(attributes.reverse ? 1 : 0) {}

  void run() const {
    if (x_.element_count() == 0) return;
    const bool is_by_thread = along_.inner >= kWideRows || along_.length <= kShort;
    if (!joins(kind_, x_.dtype())) {
      return is_by_thread ? scan_columns({along_, 1, 1}, result(), 0, 0) : scan_in_order();
    }
    const Pieces pieces(along_, is_by_thread ? 1 << 16 : 1 << 10, is_by_thread ? 256 : 4096);
    if (pieces.count == 1) return scan(is_by_thread, pieces, result(), 0, 0);
    const int64_t bytes = along_.rows * pieces.count * state_bytes(kind_, x_.dtype());
    const Array states = Array::empty_on(place_, DType::u8, {bytes});
    scan(is_by_thread, pieces, 0, 0, address_of(states));
    launch(device_, function("join_pieces", 0), blocks_for(along_.rows, 1), kBlockThreads, 0,
           address_of(states), along_.rows, pieces.count);
    scan(is_by_thread, pieces, result(), address_of(states), 0);
  }

 private:
  Address result() const { return address_of(result_); }

  const KernelFunction& function(std::string_view name, int64_t number) const {
    static Immortal<KernelVariants> variants("scans");
    const DType dtype = x_.dtype();
    return variants->of(
        device_, name, {number, static_cast<int64_t>(kind_), dtype_number(dtype)}, [&] {
          return joins(kind_, dtype) ? scan_text(kind_, dtype) : ordered_scan_text(kind_, dtype);
        });
  }

  void scan(bool is_by_thread, const Pieces& pieces, Address out, Address states,
            Address totals) const {
    if (is_by_thread) return scan_columns(pieces, out, states, totals);
    launch(device_, function("scan_rows", 1), blocks_for(along_.rows * pieces.count, 1),
           kBlockThreads, 0, address_of(x_), out, states, totals, along_.rows, along_.length,
           along_.inner, pieces.count, pieces.each, reverse_);
  }

  void scan_columns(const Pieces& pieces, Address out, Address states, Address totals) const {
    launch(device_, function("scan_columns", 2), blocks_for(along_.rows * pieces.count),
           kBlockThreads, 0, address_of(x_), address_of(second_), out, states, totals, along_.rows,
           along_.length, along_.inner, pieces.count, pieces.each, reverse_);
  }

  void scan_in_order() const {
    const int64_t together = std::min<int64_t>(along_.rows, 32);
    launch(device_, function("scan_in_order", 3), blocks_for(along_.rows, 32), kBlockThreads, 0,
           address_of(x_), address_of(second_), result(), along_.rows, along_.length, along_.inner,
           static_cast<int32_t>(together), static_cast<int32_t>(kSharedElements / together),
           reverse_);
  }

  CudaDevice& device_;
  Device place_;
  ScanKind kind_;
  Array x_, second_;
  Array& result_;
  RowsAlong along_;
  int32_t reverse_;
};

void run_scan(KernelCall& call, const void* data) {
  move_operands(call);
  Scan(call, *static_cast<const ScanKind*>(data), call.attributes.as<ScanAttributes>()).run();
}

constexpr std::pair<const ir::Primitive& (*)(), ScanKind> kScans[] = {
    {cumulative_sum_primitive, ScanKind::sum},
    {cumulative_product_primitive, ScanKind::product},
    {cumulative_maximum_primitive, ScanKind::maximum},
    {cumulative_minimum_primitive, ScanKind::minimum},
    {cumulative_logsumexp_primitive, ScanKind::logsumexp},
    {linear_recurrence_primitive, ScanKind::recurrence},
};

}  // namespace

void register_scan_kernels() {
  for (const auto& [primitive, kind] : kScans) {
    register_kernel(primitive(), {run_scan, &kind}, Device::Kind::cuda);
  }
}

}  // namespace plait::cuda
