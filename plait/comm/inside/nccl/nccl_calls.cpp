#include "plait/comm/inside/nccl/nccl_calls.h"

#include <numeric>
#include <optional>
#include <vector>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

// How NCCL reduces elements of a dtype.
struct NcclReduction {
  NcclType type;
  NcclOp op;
  int parts = 1;  // numbers of NCCL in an element
};

std::optional<NcclType> type_of(DType dtype) {
  switch (dtype) {
    case DType::f64: return NcclType::f64;
    case DType::f32: return NcclType::f32;
    case DType::f16: return NcclType::f16;
    case DType::bf16: return NcclType::bf16;
    case DType::i8: return NcclType::i8;
    case DType::u8: return NcclType::u8;
    case DType::i32: return NcclType::i32;
    case DType::u32: return NcclType::u32;
    case DType::i64: return NcclType::i64;
    case DType::u64: return NcclType::u64;
    default: return std::nullopt;
  }
}

std::optional<NcclOp> op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return NcclOp::sum;
    case ReduceOp::average: return NcclOp::average;
    case ReduceOp::product: return NcclOp::product;
    case ReduceOp::min: return NcclOp::min;
    case ReduceOp::max: return NcclOp::max;
    case ReduceOp::band:
    case ReduceOp::bor:
    case ReduceOp::bxor: break;
  }
  return std::nullopt;
}

// Booleans are bytes of 0 and 1.
std::optional<NcclOp> op_of_booleans(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::max:
    case ReduceOp::bor: return NcclOp::max;
    case ReduceOp::product:
    case ReduceOp::min:
    case ReduceOp::band: return NcclOp::min;
    case ReduceOp::average:
    case ReduceOp::bxor: break;
  }
  return std::nullopt;
}

std::optional<NcclReduction> reduction_of(ReduceOp op, DType dtype) {
  if (dtype == DType::boolean) {
    const auto of_bytes = op_of_booleans(op);
    if (!of_bytes) return std::nullopt;
    return NcclReduction{NcclType::u8, *of_bytes};
  }
  const std::optional<NcclOp> own = op_of(op);
  if (dtype == DType::c64 || dtype == DType::c128) {
    if (op != ReduceOp::sum && op != ReduceOp::average) return std::nullopt;
    return NcclReduction{dtype == DType::c64 ? NcclType::f32 : NcclType::f64, *own, 2};
  }
  const std::optional<NcclType> type = type_of(dtype);
  if (!own || !type) return std::nullopt;
  return NcclReduction{*type, *own};
}

bool reduces(CallKind kind) {
  return kind == CallKind::reduce || kind == CallKind::all_reduce ||
         kind == CallKind::reduce_scatter;
}

// Operations that begin together.
class Grouped {
 public:
  explicit Grouped(const NcclLibrary& nccl) : nccl_(nccl) {
    nccl_.check(nccl_.group_start(), "ncclGroupStart");
  }
  ~Grouped() {
    if (!is_closed_) nccl_.group_end();
  }
  Grouped(const Grouped&) = delete;
  Grouped& operator=(const Grouped&) = delete;
  void end() {
    is_closed_ = true;
    nccl_.check(nccl_.group_end(), "ncclGroupEnd");
  }

 private:
  const NcclLibrary& nccl_;
  bool is_closed_ = false;
};

class NcclWriter {
 public:
  NcclWriter(const Call& call, int rank, int size, const NcclLibrary& nccl, NcclComm comm,
             cuda::Stream stream)
      : call_(call),
        rank_(rank),
        size_(size),
        width_(size_of(call.dtype)),
        nccl_(nccl),
        comm_(comm),
        stream_(stream) {}

  void write() {
    switch (call_.kind) {
      case CallKind::new_group:
      case CallKind::barrier: return;
      case CallKind::broadcast: return broadcast(call_.root, call_.in, call_.out, call_.count);
      case CallKind::reduce: return reduce(call_.root, call_.in, call_.out, call_.count);
      case CallKind::all_reduce: return all_reduce();
      case CallKind::gather: return gather();
      case CallKind::scatter: return scatter();
      case CallKind::all_gather: return all_gather();
      case CallKind::reduce_scatter: return reduce_scatter();
      case CallKind::all_to_all: return all_to_all();
    }
  }

 private:
  using Bytes = const std::byte*;
  using Counts = std::vector<int64_t>;

  void check(NcclResult result, const char* call) const { nccl_.check(result, call, comm_); }
  size_t bytes(int64_t elements) const { return static_cast<size_t>(elements * width_); }

  int64_t count_of(int rank) const { return call_.count_of(rank); }
  // The bytes before the part of a rank in a buffer that has one for each.
  int64_t place_of(int rank) const {
    return call_.counts.empty() ? rank * call_.count * width_ : place_in(call_.counts, rank);
  }
  int64_t place_in(const Counts& counts, int rank) const {
    return std::accumulate(counts.begin(), counts.begin() + rank, int64_t{0}) * width_;
  }

  // The root's own buffer is the result there.
  void broadcast(int root, Bytes in, std::byte* out, int64_t count) const {
    if (count == 0) return;
    void* const to = out != nullptr ? out : const_cast<std::byte*>(in);
    check(nccl_.broadcast(in, to, bytes(count), NcclType::u8, root, comm_, stream_),
          "ncclBroadcast");
  }
  void reduce(int root, Bytes in, std::byte* out, int64_t count) const {
    if (count == 0) return;
    const NcclReduction r = *reduction_of(call_.reduction, call_.dtype);
    check(nccl_.reduce(in, out, static_cast<size_t>(count * r.parts), r.type, r.op, root, comm_,
                       stream_),
          "ncclReduce");
  }
  void all_reduce() const {
    if (call_.count == 0) return;
    const NcclReduction r = *reduction_of(call_.reduction, call_.dtype);
    check(nccl_.all_reduce(call_.in, call_.out, static_cast<size_t>(call_.count * r.parts), r.type,
                           r.op, comm_, stream_),
          "ncclAllReduce");
  }
  void all_gather() const {
    if (call_.counts.empty()) {
      if (call_.count == 0) return;
      return check(
          nccl_.all_gather(call_.in, call_.out, bytes(call_.count), NcclType::u8, comm_, stream_),
          "ncclAllGather");
    }
    Grouped group(nccl_);
    for (int root = 0; root < size_; ++root) {
      broadcast(root, call_.in, call_.out + place_of(root), count_of(root));
    }
    group.end();
  }
  void reduce_scatter() const {
    if (call_.counts.empty()) {
      if (call_.count == 0) return;
      const NcclReduction r = *reduction_of(call_.reduction, call_.dtype);
      return check(
          nccl_.reduce_scatter(call_.in, call_.out, static_cast<size_t>(call_.count * r.parts),
                               r.type, r.op, comm_, stream_),
          "ncclReduceScatter");
    }
    Grouped group(nccl_);
    for (int root = 0; root < size_; ++root) {
      reduce(root, call_.in + place_of(root), call_.out, count_of(root));
    }
    group.end();
  }

  void send(int rank, Bytes in, int64_t count) const {
    if (count == 0) return;
    check(nccl_.send(in, bytes(count), NcclType::u8, rank, comm_, stream_), "ncclSend");
  }
  void receive(int rank, std::byte* out, int64_t count) const {
    if (count == 0) return;
    check(nccl_.receive(out, bytes(count), NcclType::u8, rank, comm_, stream_), "ncclRecv");
  }
  // The part that a rank keeps.
  void copy(Bytes in, std::byte* out, int64_t count) const {
    if (count == 0) return;
    const auto address = [](const void* at) { return reinterpret_cast<cuda::Address>(at); };
    cuda::check(cuda::driver().copy_on_device(address(out), address(in), bytes(count), stream_),
                "cuMemcpyDtoDAsync");
  }
  template <class Use>
  void for_others(const Use& use) const {
    for (int i = 1; i < size_; ++i) use((rank_ + i) % size_);
  }
  void gather() const {
    if (rank_ != call_.root) return send(call_.root, call_.in, count_of(rank_));
    copy(call_.in, call_.out + place_of(rank_), count_of(rank_));
    Grouped group(nccl_);
    for_others([&](int rank) { receive(rank, call_.out + place_of(rank), count_of(rank)); });
    group.end();
  }
  void scatter() const {
    if (rank_ != call_.root) return receive(call_.root, call_.out, count_of(rank_));
    copy(call_.in + place_of(rank_), call_.out, count_of(rank_));
    Grouped group(nccl_);
    for_others([&](int rank) { send(rank, call_.in + place_of(rank), count_of(rank)); });
    group.end();
  }
  void all_to_all() const {
    const auto sent = [&](int rank) { return call_.send_counts[static_cast<size_t>(rank)]; };
    const auto received = [&](int rank) { return call_.receive_counts[static_cast<size_t>(rank)]; };
    const auto in_of = [&](int rank) { return call_.in + place_in(call_.send_counts, rank); };
    const auto out_of = [&](int rank) { return call_.out + place_in(call_.receive_counts, rank); };
    copy(in_of(rank_), out_of(rank_), sent(rank_));
    Grouped group(nccl_);
    for_others([&](int rank) {
      send(rank, in_of(rank), sent(rank));
      receive(rank, out_of(rank), received(rank));
    });
    group.end();
  }

  const Call& call_;
  const int rank_, size_;
  const int64_t width_;
  const NcclLibrary& nccl_;
  const NcclComm comm_;
  const cuda::Stream stream_;
};

}  // namespace

void expect_nccl_has(const Call& call) {
  if (!reduces(call.kind) || reduction_of(call.reduction, call.dtype)) return;
  const bool is_bitwise = !op_of(call.reduction).has_value();
  throw DistError("{}: NCCL has no {} of {}", name_of(call.kind), name_of(call.reduction),
                  name_of(call.dtype))
      .at(call.where)
      .hint(is_bitwise ? "reduce it in a group of the engine local or gloo, on the CPU"
                       : "convert it to a dtype that NCCL adds, such as f32 or i32; or reduce it "
                         "in a group of the engine local or gloo, on the CPU");
}

void queue_call(const Call& call, int rank, int size, const NcclLibrary& nccl, NcclComm comm,
                cuda::Stream stream) {
  NcclWriter(call, rank, size, nccl, comm, stream).write();
}

}  // namespace plait::dist
