#include "plait/cpu/inside/products/kept_packings.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <vector>

#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/tensor/inside/memory/kept_data.h"

namespace plait {

namespace setting {
constinit Setting<int64_t> kPackedMemory(
    {.name = "packed_memory",
     .standard = "-1",
     .description = "bytes of weights that are kept in the layout of products; 0: none, -1: a "
                    "quarter of the machine's memory",
     .range = {-1, int64_t{1} << 62}});
}

namespace {

const ListedSettings packing_settings{&setting::kPackedMemory};

std::atomic<int64_t> kept_bytes{0};

int64_t most_bytes() {
  static const int64_t quarter =
      static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) / 4 * ::sysconf(_SC_PAGESIZE);
  const int64_t set = setting::kPackedMemory.get(), limit = setting::kMemoryLimit.get();
  if (set >= 0) return set;
  return limit > 0 ? std::min(quarter, limit / 4) : quarter;
}

// All numbers that the packed bytes depend on, besides the matrix's elements.
using PackingKey = std::vector<int64_t>;

PackingKey key_of(const RightMatrix& b, std::span<const int64_t> layout) {
  const Matrix& m = b.matrix;
  PackingKey key{
      m.data - b.memory.data(), static_cast<int64_t>(b.dtype), m.rows, m.columns, m.row_stride,
      m.column_stride};
  for (const int64_t number : layout) key.push_back(number);
  return key;
}

class KeptPackings;

// All of them, so that they can be released together.
struct AllKeptPackings {
  std::mutex mutex;
  std::unordered_set<KeptPackings*> all;
};
AllKeptPackings& all_kept_packings() {
  static Immortal<AllKeptPackings> all;
  return *all;
}
void release_all();

class KeptPackings final : public KeptData {
 public:
  KeptPackings() {
    set_memory_reserve(release_all);
    const std::lock_guard lock(all_kept_packings().mutex);
    all_kept_packings().all.insert(this);
  }
  ~KeptPackings() override {
    const std::lock_guard lock(all_kept_packings().mutex);
    all_kept_packings().all.erase(this);
    release();
  }
  KeptPackings(const KeptPackings&) = delete;
  KeptPackings& operator=(const KeptPackings&) = delete;

  // Empty if it is not kept.
  Buffer find(const PackingKey& key) const {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.key == key) return entry.packed;
    }
    return {};
  }
  // True if the matrix was asked for before, and what is kept of the memory does not become much
  // larger than the memory: batches that are drawn from one array are not kept.
  bool is_worth(const PackingKey& key, int64_t end, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    end_ = std::max(end_, end);
    if (std::ranges::find(seen_, key) == seen_.end()) {
      if (seen_.size() < kMostSeen) {
        seen_.push_back(key);
      } else {
        seen_[oldest_++ % kMostSeen] = key;
      }
      return false;
    }
    return bytes_ + bytes <= end_ + end_ / 2;  // the layout may have margins
  }
  void release() {
    const std::lock_guard lock(mutex_);
    entries_.clear();
    kept_bytes.fetch_sub(std::exchange(bytes_, 0), std::memory_order_relaxed);
  }
  // Another thread may have added it.
  void add(const PackingKey& key, const Buffer& packed, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::find(entries_, key, &Entry::key) != entries_.end()) return;
    entries_.push_back({key, packed});
    bytes_ += bytes;
    kept_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  static constexpr size_t kMostSeen = 256;

  struct Entry {
    PackingKey key;
    Buffer packed;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<PackingKey> seen_;
  size_t oldest_ = 0;            // the one of `seen_` that is replaced next
  int64_t bytes_ = 0, end_ = 0;  // bytes that are kept; the end of the matrices in the memory
};

void release_all() {
  const std::lock_guard lock(all_kept_packings().mutex);
  for (KeptPackings* const each : all_kept_packings().all) each->release();
}

// Empty if there is not enough memory. It must not take the place of what is kept already.
Buffer kept_memory(int64_t bytes) {
  if (kept_bytes.load(std::memory_order_relaxed) + bytes > most_bytes()) return {};
  const int64_t limit = setting::kMemoryLimit.get();
  if (limit > 0 && bytes > limit - memory_statistics().live_bytes) return {};
  static const uint16_t packed = DefaultMemoryTag::index_of("packed weights");
  const DefaultMemoryTag tag(packed);
  try {
    return Buffer::from_cache(bytes);
  } catch (const MemoryError&) {
    return {};
  }
}

}  // namespace

Buffer packed_matrix(const RightMatrix& b, std::span<const int64_t> layout, int64_t bytes,
                     const std::function<void(std::byte*)>& pack) {
  if (b.memory.is_in_use()) {
    auto& kept =
        static_cast<KeptPackings&>(b.memory.kept([]() -> KeptData* { return new KeptPackings(); }));
    const PackingKey key = key_of(b, layout);
    if (Buffer known = kept.find(key)) return known;
    const Matrix& m = b.matrix;
    const int64_t end = m.data - b.memory.data() + m.rows * m.columns * size_of(b.dtype);
    Buffer memory = kept.is_worth(key, end, bytes) ? kept_memory(bytes) : Buffer();
    if (memory) {
      pack(memory.data());
      kept.add(key, memory, bytes);
      return memory;
    }
  }
  Buffer memory = Buffer::allocate_work(bytes);
  pack(memory.data());
  return memory;
}

int64_t kept_packing_bytes() { return kept_bytes.load(std::memory_order_relaxed); }

}  // namespace plait
