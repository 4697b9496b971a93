#include "plait/comm/inside/calls/collective_call.h"

#include <array>
#include <span>

#include <fmt/format.h>

#include "plait/core/hash.h"

namespace plait::dist {

std::string_view name_of(ReduceOp op) {
  constexpr std::array<std::string_view, kReduceOpCount> kNames = {
      "sum", "average", "product", "min", "max", "band", "bor", "bxor"};
  return kNames[static_cast<size_t>(op)];
}

std::string_view name_of(CallKind kind) {
  constexpr std::array<std::string_view, 10> kNames = {
      "barrier", "broadcast",  "reduce",         "all_reduce", "gather",
      "scatter", "all_gather", "reduce_scatter", "all_to_all", "new_group"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

// Ranks as bits, if they are few.
int64_t rank_set(const std::vector<int>& ranks) {
  int64_t bits = 0;
  for (const int rank : ranks) {
    if (rank >= 63) return -1;
    bits |= int64_t{1} << rank;
  }
  return bits;
}

std::string ranks_text(int64_t bits) {
  if (bits < 0) return "of many ranks";
  std::vector<int> ranks;
  for (int rank = 0; rank < 63; ++rank) {
    if ((bits >> rank & 1) != 0) ranks.push_back(rank);
  }
  return fmt::format("of rank {}", fmt::join(ranks, ", "));
}

}  // namespace

CallSummary summary_of(const Call& call) {
  CallSummary summary{.kind = call.kind,
                      .reduction = call.reduction,
                      .dtype = call.dtype,
                      .root = call.root,
                      .count = call.count};
  if (!call.counts.empty()) {
    summary.counts = hash_bytes(std::as_bytes(std::span(call.counts))) | 1;
  }
  if (!call.ranks.empty()) {
    summary.count = rank_set(call.ranks);
    summary.counts = hash_bytes(std::as_bytes(std::span(call.ranks))) | 1;
  }
  return summary;
}

uint64_t fingerprint_of(const CallSummary& summary) {
  const auto small = static_cast<uint64_t>(summary.kind) |
                     static_cast<uint64_t>(summary.reduction) << 8 |
                     static_cast<uint64_t>(summary.dtype) << 16 |
                     static_cast<uint64_t>(static_cast<uint32_t>(summary.root)) << 32;
  const uint64_t hash = hash_combine(small, static_cast<uint64_t>(summary.count));
  return hash_combine(hash, summary.counts);
}

std::string text_of(const CallSummary& summary) {
  std::string text(name_of(summary.kind));
  const bool reduces = summary.kind == CallKind::reduce || summary.kind == CallKind::all_reduce ||
                       summary.kind == CallKind::reduce_scatter;
  if (reduces) text += fmt::format("({})", name_of(summary.reduction));
  if (summary.root >= 0) {
    const bool is_source = summary.kind == CallKind::broadcast || summary.kind == CallKind::scatter;
    text += fmt::format(" {} rank {}", is_source ? "from" : "to", summary.root);
  }
  if (summary.kind == CallKind::barrier) return text;
  if (summary.kind == CallKind::new_group) return text + " " + ranks_text(summary.count);
  if (summary.kind == CallKind::all_to_all || summary.counts != 0) {
    return text + fmt::format(" of {} with parts of several sizes", name_of(summary.dtype));
  }
  return text + fmt::format(" of {}[{}]", name_of(summary.dtype), summary.count);
}

std::string text_of(const Call& call) {
  const std::string place = call.where.text();
  return text_of(summary_of(call)) + (place.empty() ? "" : " at " + place);
}

}  // namespace plait::dist
