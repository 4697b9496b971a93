#include "plait/comm/inside/local/rounds.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "plait/comm/inside/local/arena.h"
#include "plait/comm/inside/reduction.h"
#include "plait/core/error.h"

namespace plait::dist {
namespace {

using Slots = std::span<std::byte* const>;

// A call, and the units in which its rounds count.
struct Shape {
  const Call& call;
  int rank;
  int size;
  int64_t width;       // bytes of an element
  int64_t slot_count;  // elements that fit into a slot

  Shape(const Call& from, int own_rank, int ranks, size_t slot_bytes)
      : call(from),
        rank(own_rank),
        size(ranks),
        width(size_of(from.dtype)),
        slot_count(static_cast<int64_t>(slot_bytes) / width) {}

  bool is_root() const { return rank == call.root; }
  const std::byte* in(int64_t element) const { return call.in + element * width; }
  std::byte* out(int64_t element) const { return call.out + element * width; }
  void copy(std::byte* to, const std::byte* from, int64_t count) const {
    if (count > 0) std::memcpy(to, from, static_cast<size_t>(count * width));
  }
};

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Even an empty call has a round, in which the ranks agree.
int64_t rounds_for(int64_t count, int64_t each) {
  return std::max<int64_t>(1, ceil_div(count, each));
}

// Elements of a buffer that one round moves.
struct Piece {
  int64_t begin = 0;
  int64_t count = 0;
};
Piece piece_of(int64_t round, int64_t each, int64_t total) {
  const int64_t begin = std::min(round * each, total);
  return {begin, std::min(each, total - begin)};
}

class OfShape : public Rounds {
 public:
  explicit OfShape(const Shape& shape) : shape_(shape) {}

 protected:
  bool fits_into_line(int64_t elements) const {
    return elements * shape_.width <= static_cast<int64_t>(kLineBytes);
  }
  // Calls visit for the other ranks, the next one first, so that they are not all at one slot.
  template <class Visit>
  void for_others(const Visit& visit) const {
    for (int i = 1; i < shape_.size; ++i) visit((shape_.rank + i) % shape_.size);
  }

  const Shape shape_;
};

class Barrier : public OfShape {
 public:
  using OfShape::OfShape;
  bool is_short() const override { return true; }
  int64_t round_count() const override { return 1; }
  int waits_for(int) const override { return kEveryRank; }
  void write(int64_t, int, std::byte*) override {}
  void read(int64_t, int, Slots) override {}
};

class Broadcast : public OfShape {
 public:
  using OfShape::OfShape;
  bool is_short() const override { return fits_into_line(shape_.call.count); }
  int64_t round_count() const override { return rounds_for(shape_.call.count, shape_.slot_count); }
  int waits_for(int) const override { return shape_.is_root() ? kNoRank : shape_.call.root; }
  void write(int64_t round, int, std::byte* slot) override {
    const Piece piece = piece_of(round, shape_.slot_count, shape_.call.count);
    if (!shape_.is_root()) return;
    shape_.copy(slot, shape_.in(piece.begin), piece.count);
    if (shape_.call.out != nullptr) {
      shape_.copy(shape_.out(piece.begin), shape_.in(piece.begin), piece.count);
    }
  }
  void read(int64_t round, int, Slots slots) override {
    const Piece piece = piece_of(round, shape_.slot_count, shape_.call.count);
    if (shape_.is_root()) return;
    shape_.copy(shape_.out(piece.begin), slots[static_cast<size_t>(shape_.call.root)], piece.count);
  }
};

// Buffers of the ranks, one after another, where each has a part of a common buffer.
std::vector<int64_t> begins_of(const Call& call, int size) {
  std::vector<int64_t> begins{0};
  for (int rank = 0; rank < size; ++rank) begins.push_back(begins.back() + call.count_of(rank));
  return begins;
}

int64_t largest_part(const Call& call) {
  return call.counts.empty() ? call.count : std::ranges::max(call.counts);
}

// gather and all_gather: the parts of all ranks, to one or to all.
class Gather : public OfShape {
 public:
  explicit Gather(const Shape& shape)
      : OfShape(shape), begins_(begins_of(shape.call, shape.size)) {}

  bool is_short() const override { return fits_into_line(largest_part(shape_.call)); }
  int64_t round_count() const override {
    return rounds_for(largest_part(shape_.call), shape_.slot_count);
  }
  int waits_for(int) const override { return takes() ? kEveryRank : kNoRank; }
  void write(int64_t round, int, std::byte* slot) override {
    const Piece piece = piece_for(round, shape_.rank);
    shape_.copy(slot, shape_.in(piece.begin), piece.count);
    if (takes()) put(shape_.rank, piece, shape_.in(piece.begin));
  }
  void read(int64_t round, int, Slots slots) override {
    if (!takes()) return;
    for_others(
        [&](int rank) { put(rank, piece_for(round, rank), slots[static_cast<size_t>(rank)]); });
  }

 private:
  bool takes() const { return shape_.call.root < 0 || shape_.is_root(); }
  Piece piece_for(int64_t round, int rank) const {
    return piece_of(round, shape_.slot_count, shape_.call.count_of(rank));
  }
  void put(int rank, const Piece& piece, const std::byte* from) const {
    shape_.copy(shape_.out(begins_[static_cast<size_t>(rank)] + piece.begin), from, piece.count);
  }

  std::vector<int64_t> begins_;
};

// Calls in which ranks write a section of their slot for each rank.
class Sections : public OfShape {
 public:
  explicit Sections(const Shape& shape)
      : OfShape(shape), section_(std::max<int64_t>(1, shape.slot_count / shape.size)) {}

 protected:
  std::byte* section(std::byte* slot, int rank) const {
    return slot + rank * section_ * shape_.width;
  }

  const int64_t section_;  // elements
};

class Scatter : public Sections {
 public:
  explicit Scatter(const Shape& shape)
      : Sections(shape), begins_(begins_of(shape.call, shape.size)) {}

  bool is_short() const override { return false; }
  int64_t round_count() const override { return rounds_for(largest_part(shape_.call), section_); }
  int waits_for(int) const override { return shape_.is_root() ? kNoRank : shape_.call.root; }
  void write(int64_t round, int, std::byte* slot) override {
    if (!shape_.is_root()) return;
    for (int rank = 0; rank < shape_.size; ++rank) {
      const Piece piece = piece_for(round, rank);
      const std::byte* const from = shape_.in(begins_[static_cast<size_t>(rank)] + piece.begin);
      shape_.copy(rank == shape_.rank ? shape_.out(piece.begin) : section(slot, rank), from,
                  piece.count);
    }
  }
  void read(int64_t round, int, Slots slots) override {
    if (shape_.is_root()) return;
    const Piece piece = piece_for(round, shape_.rank);
    std::byte* const from = section(slots[static_cast<size_t>(shape_.call.root)], shape_.rank);
    shape_.copy(shape_.out(piece.begin), from, piece.count);
  }

 private:
  Piece piece_for(int64_t round, int rank) const {
    return piece_of(round, section_, shape_.call.count_of(rank));
  }

  std::vector<int64_t> begins_;
};

class ReduceScatter : public Sections {
 public:
  explicit ReduceScatter(const Shape& shape)
      : Sections(shape), begins_(begins_of(shape.call, shape.size)) {}

  bool is_short() const override { return false; }
  int64_t round_count() const override { return rounds_for(largest_part(shape_.call), section_); }
  int waits_for(int) const override { return kEveryRank; }
  void write(int64_t round, int, std::byte* slot) override {
    for_others([&](int rank) {
      const Piece piece = piece_for(round, rank);
      shape_.copy(section(slot, rank), in_of(rank, piece), piece.count);
    });
  }
  void read(int64_t round, int, Slots slots) override {
    const Piece piece = piece_for(round, shape_.rank);
    std::vector<const std::byte*> parts;
    for (int rank = 0; rank < shape_.size; ++rank) {
      parts.push_back(rank == shape_.rank ? in_of(rank, piece)
                                          : section(slots[static_cast<size_t>(rank)], shape_.rank));
    }
    reduce_parts(shape_.call.reduction, shape_.call.dtype, parts, shape_.out(piece.begin),
                 piece.count);
  }

 private:
  Piece piece_for(int64_t round, int rank) const {
    return piece_of(round, section_, shape_.call.count_of(rank));
  }
  const std::byte* in_of(int rank, const Piece& piece) const {
    return shape_.in(begins_[static_cast<size_t>(rank)] + piece.begin);
  }

  std::vector<int64_t> begins_;
};

// In the first round the ranks tell each other how much they send.
class AllToAll : public Sections {
 public:
  explicit AllToAll(const Shape& shape) : Sections(shape) {
    const auto begins = [](const std::vector<int64_t>& counts) {
      std::vector<int64_t> sums(counts.size());
      std::exclusive_scan(counts.begin(), counts.end(), sums.begin(), int64_t{0});
      return sums;
    };
    in_begins_ = begins(shape.call.send_counts);
    out_begins_ = begins(shape.call.receive_counts);
  }

  bool is_short() const override { return false; }
  int64_t round_count() const override { return 1 + data_rounds_; }
  int waits_for(int) const override { return kEveryRank; }
  void write(int64_t round, int, std::byte* slot) override {
    if (round == 0) {
      const std::vector<int64_t>& counts = shape_.call.send_counts;
      std::memcpy(slot, counts.data(), counts.size() * sizeof(int64_t));
      return;
    }
    for (int rank = 0; rank < shape_.size; ++rank) {
      const Piece piece = piece_to(round, rank);
      const std::byte* const from = shape_.in(in_begins_[static_cast<size_t>(rank)] + piece.begin);
      shape_.copy(rank == shape_.rank ? out_of(rank, piece) : section(slot, rank), from,
                  piece.count);
    }
  }
  void read(int64_t round, int, Slots slots) override {
    if (round == 0) return read_counts(slots);
    for_others([&](int rank) {
      const Piece piece =
          piece_of(round - 1, section_, shape_.call.receive_counts[static_cast<size_t>(rank)]);
      shape_.copy(out_of(rank, piece), section(slots[static_cast<size_t>(rank)], shape_.rank),
                  piece.count);
    });
  }

 private:
  Piece piece_to(int64_t round, int rank) const {
    return piece_of(round - 1, section_, shape_.call.send_counts[static_cast<size_t>(rank)]);
  }
  std::byte* out_of(int rank, const Piece& piece) const {
    return shape_.out(out_begins_[static_cast<size_t>(rank)] + piece.begin);
  }
  void read_counts(Slots slots) {
    int64_t largest = 0;
    for (int from = 0; from < shape_.size; ++from) {
      const auto* const counts = reinterpret_cast<const int64_t*>(slots[static_cast<size_t>(from)]);
      largest = std::max(largest, *std::max_element(counts, counts + shape_.size));
      const int64_t expected = shape_.call.receive_counts[static_cast<size_t>(from)];
      if (counts[shape_.rank] != expected) {
        throw DistError("all_to_all: rank {} sends {} elements to rank {}, which expects {}", from,
                        counts[shape_.rank], shape_.rank, expected);
      }
    }
    data_rounds_ = ceil_div(largest, section_);
  }

  std::vector<int64_t> in_begins_, out_begins_;
  int64_t data_rounds_ = 0;
};

// reduce and all_reduce of few elements: each rank that needs the result reads all operands.
class ReduceShort : public OfShape {
 public:
  using OfShape::OfShape;
  bool is_short() const override { return fits_into_line(shape_.call.count); }
  int64_t round_count() const override { return 1; }
  int waits_for(int) const override { return takes() ? kEveryRank : kNoRank; }
  void write(int64_t, int, std::byte* slot) override {
    shape_.copy(slot, shape_.in(0), shape_.call.count);
  }
  void read(int64_t, int, Slots slots) override {
    if (!takes()) return;
    const std::vector<const std::byte*> parts(slots.begin(), slots.end());
    reduce_parts(shape_.call.reduction, shape_.call.dtype, parts, shape_.out(0), shape_.call.count);
  }

 private:
  bool takes() const { return shape_.call.root < 0 || shape_.is_root(); }
};

// reduce and all_reduce of many: in a round each rank reduces a section, and writes it to its slot
// for those that need the result.
class ReduceLong : public Sections {
 public:
  using Sections::Sections;
  bool is_short() const override { return false; }
  int64_t round_count() const override {
    return rounds_for(shape_.call.count, section_ * shape_.size);
  }
  int step_count() const override { return 2; }
  int waits_for(int step) const override { return step == 0 || takes() ? kEveryRank : kNoRank; }
  void write(int64_t round, int step, std::byte* slot) override {
    if (step == 1) return;  // read has written the result
    own_slot_ = slot;
    for_others([&](int rank) {
      const Piece piece = piece_for(round, rank);
      shape_.copy(section(slot, rank), shape_.in(piece.begin), piece.count);
    });
  }
  void read(int64_t round, int step, Slots slots) override {
    if (step == 0) return reduce_own(piece_for(round, shape_.rank), slots);
    if (!takes()) return;
    for (int rank = 0; rank < shape_.size; ++rank) {
      const Piece piece = piece_for(round, rank);
      shape_.copy(shape_.out(piece.begin), section(slots[static_cast<size_t>(rank)], rank),
                  piece.count);
    }
  }

 private:
  bool takes() const { return shape_.call.root < 0 || shape_.is_root(); }
  // The elements of the buffer that are the section of a rank in a round.
  Piece piece_for(int64_t round, int rank) const {
    return piece_of(round * shape_.size + rank, section_, shape_.call.count);
  }
  void reduce_own(const Piece& piece, Slots slots) {
    std::vector<const std::byte*> parts;
    for (int rank = 0; rank < shape_.size; ++rank) {
      parts.push_back(rank == shape_.rank ? shape_.in(piece.begin)
                                          : section(slots[static_cast<size_t>(rank)], shape_.rank));
    }
    reduce_parts(shape_.call.reduction, shape_.call.dtype, parts, section(own_slot_, shape_.rank),
                 piece.count);
  }

  std::byte* own_slot_ = nullptr;
};

constexpr int64_t kShortReduction = 32 << 10;  // bytes

}  // namespace

std::unique_ptr<Rounds> rounds_of(const Call& call, int rank, int size, size_t slot_bytes) {
  const Shape shape(call, rank, size, slot_bytes);
  if (call.moves_nothing) return std::make_unique<Barrier>(shape);
  switch (call.kind) {
    case CallKind::new_group:
    case CallKind::barrier: return std::make_unique<Barrier>(shape);
    case CallKind::broadcast: return std::make_unique<Broadcast>(shape);
    case CallKind::gather:
    case CallKind::all_gather: return std::make_unique<Gather>(shape);
    case CallKind::scatter: return std::make_unique<Scatter>(shape);
    case CallKind::reduce_scatter: return std::make_unique<ReduceScatter>(shape);
    case CallKind::all_to_all: return std::make_unique<AllToAll>(shape);
    case CallKind::reduce:
    case CallKind::all_reduce:
      if (call.count * shape.width <= kShortReduction) return std::make_unique<ReduceShort>(shape);
      return std::make_unique<ReduceLong>(shape);
  }
  throw ValueError("{} is not a kind of call", static_cast<int>(call.kind));
}

}  // namespace plait::dist
