#include "plait/cuda/inside/device/index_notes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/core/error.h"

namespace plait::cuda {

const std::string_view kIndexNotesText = R"(
struct Bad { u64 place, index, which; };
struct Notes { u64 first[256]; u32 count, unused; Bad bad[256]; };

// Each place before those noted so far of its operation takes a line, the last ones in place of the
// first ones; the least place of an operation is the last of its places.
__device__ __noinline__ void note_index(Notes* notes, u64 place, i64 index, int which) {
  if (atomicMin(&notes->first[(place >> 40) % 256], place) <= place) return;
  Bad* const line = &notes->bad[atomicAdd(&notes->count, 1u) % 256];
  atomicExch(&line->place, place);
  atomicExch(&line->index, (u64)index);
  atomicExch(&line->which, (u64)which);
}
)";

namespace {

constexpr uint64_t kNothing = ~uint64_t{0};
constexpr size_t kMostNamed = 3;
constexpr int kPositionBits = 40;
constexpr int64_t kMostNumbers = (int64_t{1} << 24) - 1;  // in what is left of a place
// Operations are forgotten after a wait, except the last ones, which another thread may be about to
// launch; and the first ones, if the host waits for none of very many.
constexpr size_t kLeastKept = 64, kMostKept = 1 << 14;

using All = std::array<std::atomic<IndexNotes*>, Device::kMost>;
All& all_notes() {
  static All all{};
  return all;
}

template <class T>
T read_now(T& word) {
  return std::atomic_ref<T>(word).load(std::memory_order_acquire);
}

// Errors of earlier calls do not name the call in progress.
class WithoutCall {
 public:
  WithoutCall() : call_(std::exchange(ambient.call, nullptr)) {}
  ~WithoutCall() { ambient.call = call_; }
  WithoutCall(const WithoutCall&) = delete;
  WithoutCall& operator=(const WithoutCall&) = delete;

 private:
  const CallInProgress* call_;
};

// Throws the error of an operation whose number `index`, of the indices `which`, is bad.
[[noreturn]] void refuse(const CheckedOperation& operation, int64_t index, int64_t which,
                         const std::string& others) {
  if (operation.function.empty()) {
    throw IndexError("an index or parameter of an earlier operation is out of range").hint(others);
  }
  if (operation.refusal != nullptr) {
    const std::string text = operation.refusal(which, index);
    throw ValueError("{}: {}", operation.function, text).at(operation.location).hint(others);
  }
  if (operation.plane >= 0) {
    throw IndexError("{}: index {} is out of range for a plane of {} elements", operation.function,
                     index, operation.plane)
        .at(operation.location)
        .hint(others);
  }
  const auto place = static_cast<size_t>(which);
  if (place >= operation.axes.size()) {
    throw IndexError("{}: an index is out of range for {}{}", operation.function,
                     name_of(operation.dtype), text_of_sizes(operation.sizes))
        .at(operation.location)
        .hint(others);
  }
  const std::string text = operation.index_dtypes[place] == DType::u64
                               ? fmt::format("{}", static_cast<uint64_t>(index))
                               : fmt::format("{}", index);
  const int64_t axis = operation.axes[place];
  throw IndexError("{}: index {} is out of range for axis {} of {}{}, whose size is {}",
                   operation.function, text, axis, name_of(operation.dtype),
                   text_of_sizes(operation.sizes), operation.sizes[static_cast<size_t>(axis)])
      .at(operation.location)
      .hint(others);
}

}  // namespace

IndexNotes::IndexNotes(const CudaDevice& device) : device_(device) {
  constexpr unsigned kForAllContexts = 1, kInDeviceAddresses = 2;
  device.enter();
  void* memory = nullptr;
  check(driver().allocate_pinned(&memory, sizeof(Notes), kForAllContexts | kInDeviceAddresses),
        "cuMemHostAlloc");
  notes_ = static_cast<Notes*>(memory);
  check(driver().device_address_of_pinned(&address_, memory, 0), "cuMemHostGetDevicePointer");
  clear();
}

void IndexNotes::clear() {
  for (Bad& each : notes_->bad) each.place = kNothing;
  for (uint64_t& each : notes_->first) each = kNothing;
  notes_->count = 0;
}
bool IndexNotes::has_some() const { return read_now(notes_->count) != 0; }

int64_t IndexNotes::count() {
  const std::lock_guard lock(mutex_);
  return end_;
}

uint64_t IndexNotes::add(CheckedOperation operation) {
  const std::lock_guard lock(mutex_);
  if (end_ - begin_ == kMostNumbers) {
    device_.synchronize();
    if (has_some()) refuse_all();
    begin_ = end_;
  }
  operations_.push_back(std::move(operation));
  if (operations_.size() > kMostKept) operations_.pop_front();
  return static_cast<uint64_t>(end_++ - begin_) << kPositionBits;
}

void IndexNotes::report(int64_t waited) {
  const std::lock_guard lock(mutex_);
  if (has_some()) {
    device_.synchronize();  // for kernels that another thread launched meanwhile
    refuse_all();
  }
  const int64_t later = end_ - waited;
  while (static_cast<int64_t>(operations_.size()) > later && operations_.size() > kLeastKept) {
    operations_.pop_front();
  }
}

const CheckedOperation* IndexNotes::operation_at(uint64_t place) const {
  const int64_t back = end_ - begin_ - static_cast<int64_t>(place >> kPositionBits);
  const auto kept = static_cast<int64_t>(operations_.size());
  return back > 0 && back <= kept ? &operations_[static_cast<size_t>(kept - back)] : nullptr;
}

IndexNotes::Bad IndexNotes::noted_at(uint64_t place) const {
  for (const Bad& each : notes_->bad) {
    if (each.place == place) return each;
  }
  return {place, 0, -1};
}

// A hint that names some of the operations at these places.
std::string IndexNotes::text_of_others(std::span<const uint64_t> places) const {
  if (places.empty()) return "";
  std::string named;
  for (const uint64_t place : places.first(std::min(places.size(), kMostNamed))) {
    const CheckedOperation* const operation = operation_at(place);
    if (operation == nullptr) continue;
    named += fmt::format("{}{} at {}", named.empty() ? ": " : ", ", operation->function,
                         operation->location.text());
  }
  return fmt::format(
      "later operations had bad numbers, too ({}{}{}): their results have no meaning",
      places.size(), named, places.size() > kMostNamed ? ", …" : "");
}

void IndexNotes::refuse_all() {
  std::vector<uint64_t> places;
  for (const uint64_t place : notes_->first) {
    if (place != kNothing) places.push_back(place);
  }
  std::ranges::sort(places);
  const uint64_t first = places.empty() ? 0 : places.front();
  const CheckedOperation* const known = operation_at(first);
  const CheckedOperation operation = known != nullptr ? *known : CheckedOperation();
  const Bad found = noted_at(first);
  const std::string others =
      text_of_others(std::span(places).subspan(std::min<size_t>(places.size(), 1)));
  clear();
  operations_.clear();
  begin_ = end_;
  const WithoutCall without;
  refuse(operation, found.index, found.which, others);
}

IndexNotes& index_notes(const CudaDevice& device) {
  static std::mutex making;
  std::atomic<IndexNotes*>& made = all_notes().at(static_cast<size_t>(device.index()));
  if (IndexNotes* const notes = made.load(std::memory_order_acquire)) return *notes;
  const std::lock_guard lock(making);
  // As long as the process: kernels may still write to it when it ends.
  if (made.load() == nullptr) made.store(new IndexNotes(device), std::memory_order_release);
  return *made.load();
}

void wait_and_report(const CudaDevice& device) {
  IndexNotes* const notes =
      all_notes().at(static_cast<size_t>(device.index())).load(std::memory_order_acquire);
  if (notes == nullptr) return device.synchronize();
  const int64_t waited = notes->count();
  device.synchronize();
  notes->report(waited);
}

}  // namespace plait::cuda
