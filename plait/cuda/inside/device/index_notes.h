// Bad indices and parameters: kernels note them in pinned memory, and the next wait of the host
// throws an IndexError or ValueError.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/numbers/dtype.h"
#include "plait/cuda/inside/device/cuda_device.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// An operation whose indices are checked on the device: all that its error says.
struct CheckedOperation {
  std::string_view function;  // a name in static memory
  DType dtype = DType::f32;   // the indexed array
  Sizes sizes = {};
  std::vector<int64_t> axes = {};        // one for each array of indices
  std::vector<DType> index_dtypes = {};  // the same
  int64_t plane = -1;                    // or the elements of the planes that indices count
  Location location = {};                // the user's line
  // For numbers that are not indices: the text of the ValueError, from `which` and `index` of the
  // note.
  std::string (*refusal)(int64_t which, int64_t bits) = nullptr;
};

// Notes, and note_index(notes, place, index, which). A place is that of the operation (add) plus
// the position among its indices, so the least place of an operation is that of its first bad
// index.
extern const std::string_view kIndexNotesText;

// The notes of one device. Called by several threads concurrently.
class IndexNotes {
 public:
  explicit IndexNotes(const CudaDevice& device);

  // The memory that kernels write to, as parameter `Notes*`.
  Address address() const { return address_; }
  // The place of the operation, for its kernel, which is launched next.
  uint64_t add(CheckedOperation operation);

  // The number of operations so far.
  int64_t count();
  // After a wait that began when there were `waited` operations: throws the error of the first bad
  // number, if there is one, which names the other operations that have some, and forgets all.
  void report(int64_t waited);

 private:
  // Written by kernels; Bad and Notes in the text are the same.
  struct Bad {
    uint64_t place;
    int64_t index;
    int64_t which;
  };
  struct Notes {
    uint64_t first[256];  // the least place of an operation, or of several; all ones if none
    uint32_t count, unused;
    Bad bad[256];
  };

  void clear();
  bool has_some() const;
  const CheckedOperation* operation_at(uint64_t place) const;  // null if it is forgotten
  Bad noted_at(uint64_t place) const;
  std::string text_of_others(std::span<const uint64_t> places) const;
  [[noreturn]] void refuse_all();

  const CudaDevice& device_;
  Notes* notes_ = nullptr;
  Address address_ = 0;
  std::mutex mutex_;
  int64_t begin_ = 0;  // operations before it are forgotten
  int64_t end_ = 0;
  std::deque<CheckedOperation> operations_;  // the last ones, before end_
};

IndexNotes& index_notes(const CudaDevice& device);
// Waits for the device. Throws what kernels have noted.
void wait_and_report(const CudaDevice& device);

}  // namespace plait::cuda
