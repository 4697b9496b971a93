#include "plait/comm/inside/wires/wire_program.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace plait::dist {
namespace {

// Parts of long transfers, of which each is reduced or passed on while the next one arrives.
constexpr int64_t kSegmentBytes = 256 << 10;
// A transfer of the libraries, which count bytes in 32 bits.
constexpr int64_t kMostBytes = 1 << 30;
// Up to this size all ranks send all that they have to all others, or along a tree.
constexpr int64_t kShortBytes = 16 << 10;

// All ranks know that nothing is to be moved: they wait for each other, so that they compare what
// they call.
bool is_empty(const Call& call) {
  if (call.moves_nothing) return true;
  if (call.kind == CallKind::all_to_all) return false;
  return call.count == 0 &&
         std::ranges::all_of(call.counts, [](int64_t each) { return each == 0; });
}

// Writes the program of a rank.
class Writer {
 public:
  Writer(const Call& call, int rank, int size)
      : call_(call), rank_(rank), size_(size), width_(plait::size_of(call.dtype)) {}

  WireProgram write() {
    switch (is_empty(call_) ? CallKind::barrier : call_.kind) {
      case CallKind::new_group:
      case CallKind::barrier: barrier(); break;
      case CallKind::broadcast: broadcast(); break;
      case CallKind::reduce: reduce(); break;
      case CallKind::all_reduce: all_reduce(); break;
      case CallKind::gather: gather(); break;
      case CallKind::scatter: scatter(); break;
      case CallKind::all_gather: all_gather(); break;
      case CallKind::reduce_scatter: reduce_scatter(); break;
      case CallKind::all_to_all: all_to_all(); break;
    }
    wait_for_all();
    return std::move(program_);
  }

 private:
  using Bytes = const std::byte*;

  // Elements of a buffer.
  struct Range {
    int64_t begin = 0, count = 0;
  };

  std::byte* scratch_of(int64_t bytes) {
    program_.scratch = std::make_shared_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
    return program_.scratch.get();
  }
  // `others(rank)` for all ranks but this one, beginning with the next: so that not all send to the
  // same rank first.
  template <class Use>
  void for_others(const Use& use) const {
    for (int i = 1; i < size_; ++i) use((rank_ + i) % size_);
  }

  void add_transfer(WireStep step) {
    for (int64_t done = 0; done < step.size; done += kMostBytes) {
      WireStep piece = step;
      piece.size = std::min(kMostBytes, step.size - done);
      if (step.in != nullptr) piece.in += done;
      if (step.out != nullptr) piece.out += done;
      program_.steps.push_back(std::move(piece));
      ++transfers_;
    }
  }
  void send(int rank, Bytes in, Range range) {
    add_transfer({.kind = WireStepKind::send,
                  .rank = rank,
                  .size = range.count * width_,
                  .in = in + range.begin * width_});
  }
  void receive(int rank, std::byte* out, Range range) {
    add_transfer({.kind = WireStepKind::receive,
                  .rank = rank,
                  .size = range.count * width_,
                  .out = out + range.begin * width_});
  }
  // For those from the one of this number until another one.
  void wait_for(size_t first, size_t end) {
    for (; first < end; ++first) {
      program_.steps.push_back({.kind = WireStepKind::wait, .transfer = first});
    }
  }
  void wait_for_all() { wait_for(0, transfers_); }
  void copy(Bytes in, Range from, std::byte* out, Range to) {
    program_.steps.push_back({.kind = WireStepKind::copy,
                              .size = from.count * width_,
                              .in = in + from.begin * width_,
                              .out = out + to.begin * width_});
  }
  void reduce_parts(std::vector<Bytes> parts, std::byte* out, Range range) {
    if (range.count == 0) return;
    program_.steps.push_back({.kind = WireStepKind::reduce,
                              .size = range.count,
                              .out = out + range.begin * width_,
                              .parts = std::move(parts)});
  }

  // The part of a rank where a buffer has one for each.
  Range part_of(int rank) const {
    if (call_.counts.empty()) return {rank * call_.count, call_.count};
    const auto begin = call_.counts.begin();
    return {std::accumulate(begin, begin + rank, int64_t{0}), call_.count_of(rank)};
  }
  // The part that a rank reduces, or passes on, of a buffer without parts.
  Range share_of(int rank) const {
    const int64_t begin = call_.count / size_ * rank + std::min<int64_t>(rank, call_.count % size_);
    return {begin, call_.count / size_ + (rank < call_.count % size_ ? 1 : 0)};
  }
  int64_t segment() const { return std::max<int64_t>(1, kSegmentBytes / width_); }
  Range segment_of(Range range, int64_t number) const {
    const int64_t begin = std::min(range.count, number * segment());
    return {range.begin + begin, std::min(segment(), range.count - begin)};
  }
  template <class RangeOf>
  int64_t segment_count(const RangeOf& range_of) const {
    int64_t most = 0;
    for (int rank = 0; rank < size_; ++rank) most = std::max(most, range_of(rank).count);
    return (most + segment() - 1) / segment();
  }

  bool is_short() const { return call_.count * width_ * (size_ - 1) <= kShortBytes; }

  void barrier();
  void broadcast();
  void broadcast_by_tree();
  void broadcast_by_shares();
  void reduce();
  void all_reduce();
  void all_reduce_short();
  void reduce_short();
  void gather();
  void scatter();
  void all_gather();
  void reduce_scatter();
  void all_to_all();
  // Each rank receives its range from all others, segment by segment, and reduces it to
  // `out + place`; `pass_on` is then called with the segment.
  template <class RangeOf, class PassOn>
  void reduce_ranges(const RangeOf& range_of, int64_t place, const PassOn& pass_on);

  const Call& call_;
  const int rank_, size_;
  const int64_t width_;
  size_t transfers_ = 0;
  WireProgram program_;
};

// In round k, each rank knows of the 2^k ranks before it.
void Writer::barrier() {
  static constexpr std::byte kNothing{};
  std::byte* const arrived = scratch_of(64);
  for (int distance = 1, round = 0; distance < size_; distance *= 2, ++round) {
    const size_t first = transfers_;
    add_transfer({.kind = WireStepKind::send,
                  .rank = (rank_ + distance) % size_,
                  .size = 1,
                  .in = &kNothing});
    add_transfer({.kind = WireStepKind::receive,
                  .rank = (rank_ + size_ - distance) % size_,
                  .size = 1,
                  .out = arrived + round});
    wait_for(first, transfers_);
  }
}

void Writer::broadcast() {
  if (size_ == 2 || call_.count * width_ <= kShortBytes) return broadcast_by_tree();
  broadcast_by_shares();
}

void Writer::broadcast_by_tree() {
  const Range all{0, call_.count};
  const int place = (rank_ + size_ - call_.root) % size_;  // the root is at 0
  const auto rank_at = [&](int other) { return (other + call_.root) % size_; };
  int distance = 1;
  for (; distance < size_ && (place & distance) == 0; distance *= 2) {
  }
  Bytes held = call_.in;
  if (place != 0) {
    receive(rank_at(place - distance), call_.out, all);
    wait_for_all();
    held = call_.out;
  }
  for (distance /= 2; distance > 0; distance /= 2) {
    if (place + distance < size_) send(rank_at(place + distance), held, all);
  }
}

// The root sends each rank its share, which it passes on to the others.
void Writer::broadcast_by_shares() {
  const auto range_of = [this](int rank) { return share_of(rank); };
  const int root = call_.root;
  for (int64_t number = 0; number < segment_count(range_of); ++number) {
    const auto piece_of = [&](int rank) { return segment_of(share_of(rank), number); };
    if (rank_ == root) {
      for_others([&](int rank) { send(rank, call_.in, piece_of(rank)); });
      for_others([&](int rank) { send(rank, call_.in, piece_of(root)); });
      continue;
    }
    const size_t first = transfers_;
    receive(root, call_.out, piece_of(rank_));
    const size_t last = transfers_;
    receive(root, call_.out, piece_of(root));
    wait_for(first, last);
    for_others([&](int rank) {
      if (rank == root) return;
      send(rank, call_.out, piece_of(rank_));
      receive(rank, call_.out, piece_of(rank));
    });
  }
}

template <class RangeOf, class PassOn>
void Writer::reduce_ranges(const RangeOf& range_of, int64_t place, const PassOn& pass_on) {
  const int64_t segments = segment_count(range_of);
  const int64_t bytes = std::min(segment(), range_of(rank_).count) * width_;
  // Two segments of each other rank: one is reduced while the next one arrives.
  std::byte* const scratch = scratch_of(2 * bytes * size_);
  const auto received_from = [&](int rank, int64_t number) {
    return scratch + (number % 2 * size_ + rank) * bytes;
  };
  const auto begin = [&](int64_t number) {
    const Range own = segment_of(range_of(rank_), number);
    for_others([&](int rank) {
      send(rank, call_.in, segment_of(range_of(rank), number));
      receive(rank, received_from(rank, number), {0, own.count});
    });
  };
  if (segments > 0) begin(0);
  size_t first = 0, end = transfers_;
  for (int64_t number = 0; number < segments; ++number) {
    const size_t next = transfers_;
    if (number + 1 < segments) begin(number + 1);
    wait_for(first, end);
    first = next;
    end = transfers_;
    const Range own = segment_of(range_of(rank_), number);
    std::vector<Bytes> parts;
    for (int rank = 0; rank < size_; ++rank) {
      parts.push_back(rank == rank_ ? call_.in + own.begin * width_ : received_from(rank, number));
    }
    const Range reduced{own.begin + place, own.count};
    reduce_parts(std::move(parts), call_.out, reduced);
    pass_on(number);
  }
}

void Writer::all_reduce_short() {
  const Range all{0, call_.count};
  std::byte* const scratch = scratch_of(call_.count * width_ * size_);
  const auto received_from = [&](int rank) { return scratch + rank * call_.count * width_; };
  for_others([&](int rank) {
    send(rank, call_.in, all);
    receive(rank, received_from(rank), all);
  });
  wait_for_all();
  std::vector<Bytes> parts;
  for (int rank = 0; rank < size_; ++rank) {
    parts.push_back(rank == rank_ ? call_.in : received_from(rank));
  }
  reduce_parts(std::move(parts), call_.out, all);
}

void Writer::all_reduce() {
  if (is_short()) return all_reduce_short();
  reduce_ranges([this](int rank) { return share_of(rank); }, 0,
                [&](int64_t number) {
                  for_others([&](int rank) {
                    send(rank, call_.out, segment_of(share_of(rank_), number));
                    receive(rank, call_.out, segment_of(share_of(rank), number));
                  });
                });
}

void Writer::reduce_short() {
  const Range all{0, call_.count};
  if (rank_ != call_.root) return send(call_.root, call_.in, all);
  std::byte* const scratch = scratch_of(call_.count * width_ * size_);
  const auto received_from = [&](int rank) { return scratch + rank * call_.count * width_; };
  for_others([&](int rank) { receive(rank, received_from(rank), all); });
  wait_for_all();
  std::vector<Bytes> parts;
  for (int rank = 0; rank < size_; ++rank) {
    parts.push_back(rank == rank_ ? call_.in : received_from(rank));
  }
  reduce_parts(std::move(parts), call_.out, all);
}

void Writer::reduce() {
  if (is_short()) return reduce_short();
  reduce_ranges(
      [this](int rank) { return share_of(rank); }, 0,
      [&](int64_t number) {
        if (rank_ != call_.root) {
          return send(call_.root, call_.out, segment_of(share_of(rank_), number));
        }
        for_others([&](int rank) { receive(rank, call_.out, segment_of(share_of(rank), number)); });
      });
}

void Writer::reduce_scatter() {
  reduce_ranges([this](int rank) { return part_of(rank); }, -part_of(rank_).begin, [](int64_t) {});
}

void Writer::gather() {
  const Range own = part_of(rank_);
  if (rank_ != call_.root) return send(call_.root, call_.in, {0, own.count});
  for_others([&](int rank) { receive(rank, call_.out, part_of(rank)); });
  copy(call_.in, {0, own.count}, call_.out, own);
}

void Writer::scatter() {
  const Range own = part_of(rank_);
  if (rank_ != call_.root) return receive(call_.root, call_.out, {0, own.count});
  for_others([&](int rank) { send(rank, call_.in, part_of(rank)); });
  copy(call_.in, own, call_.out, {});
}

void Writer::all_gather() {
  const Range own = part_of(rank_);
  for_others([&](int rank) {
    send(rank, call_.in, {0, own.count});
    receive(rank, call_.out, part_of(rank));
  });
  copy(call_.in, {0, own.count}, call_.out, own);
}

void Writer::all_to_all() {
  const auto part_in = [](const std::vector<int64_t>& counts, int rank) {
    const auto begin = counts.begin();
    return Range{std::accumulate(begin, begin + rank, int64_t{0}),
                 counts[static_cast<size_t>(rank)]};
  };
  for_others([&](int rank) {
    send(rank, call_.in, part_in(call_.send_counts, rank));
    receive(rank, call_.out, part_in(call_.receive_counts, rank));
  });
  copy(call_.in, part_in(call_.send_counts, rank_), call_.out,
       part_in(call_.receive_counts, rank_));
}

}  // namespace

WireProgram wire_program_of(const Call& call, int rank, int size) {
  return Writer(call, rank, size).write();
}

}  // namespace plait::dist
