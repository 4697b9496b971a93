#include "plait/cpu/inside/products/kept_packings.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include <unistd.h>

#include "plait/core/error.h"
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
  const int64_t set = setting::kPackedMemory.get();
  return set < 0 ? quarter : set;
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

class KeptPackings final : public KeptData {
 public:
  ~KeptPackings() override {
    int64_t bytes = 0;
    for (const Entry& entry : entries_) bytes += entry.bytes;
    kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  }
  KeptPackings() = default;
  KeptPackings(const KeptPackings&) = delete;
  KeptPackings& operator=(const KeptPackings&) = delete;

  Buffer find(const PackingKey& key) const {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) {
      if (entry.key == key) return entry.packed;
    }
    return {};
  }
  void add(const PackingKey& key, const Buffer& packed, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    entries_.push_back({key, packed, bytes});
    kept_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    PackingKey key;
    Buffer packed;
    int64_t bytes;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// Empty if there is not enough memory.
Buffer kept_memory(int64_t bytes) {
  if (kept_bytes.load(std::memory_order_relaxed) + bytes > most_bytes()) return {};
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
    if (Buffer memory = kept_memory(bytes)) {
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
