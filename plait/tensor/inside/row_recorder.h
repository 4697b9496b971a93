// Records elementwise operations while they run on short rows, and replays them on rows of any
// length in pieces: intermediate results stay in the L1 cache, no tensors are created and no type
// rules run.
//
//   RowRecorder notes(pieces);              // a piece of each operand
//   const Tensor piece = f(pieces);
//   if (notes.lead_to(piece.array())) notes.repeat(operands, result);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/tensor/kernels.h"

namespace plait {

class RowRecorder {
 public:
  // Starts recording on this thread. Each array is contiguous or broadcast from one element.
  explicit RowRecorder(std::span<const Array> given);
  ~RowRecorder();
  RowRecorder(const RowRecorder&) = delete;
  RowRecorder& operator=(const RowRecorder&) = delete;

  // The innermost recorder of this thread; null if there is none.
  static RowRecorder* current();

  // `sizes`: bytes of an element of each operand.
  void add(const Kernel& kernel, const RowCall& call, std::span<const int64_t> sizes,
           const Array& result);
  // Recorded as a row operation if the kernel takes these operands as rows.
  void add(const Kernel& kernel, std::span<const Array> operands, std::span<const Array> results);

  // Stops recording. True if the recorded operations are all that computed `result` from the given
  // arrays.
  bool lead_to(const Array& result);

  // Replays the operations on longer rows with the same layouts as the given ones.
  void repeat(std::span<const Array> given, Array& result) const;

 private:
  enum class Origin : uint8_t { given, step, number };
  struct Operand {
    Origin origin = Origin::given;
    size_t index = 0;  // index of the given array or the step, or the offset of the number's bytes
    int64_t step = 0;  // in bytes
  };
  struct Step {
    Kernel kernel;
    DType dtype = DType::f32;
    std::array<Operand, 3> operands;
    size_t count = 0;
    Array result;         // kept alive, so that no other array gets its address
    size_t scratch = 0;   // index of the scratch buffer for the result
    size_t last_use = 0;  // index of a step
  };
  class Piece;

  std::optional<Operand> operand_of(const std::byte* data, int64_t step, int64_t size);
  void assign_scratch();

  std::vector<Array> given_;
  std::vector<Step> steps_;
  std::vector<std::byte> numbers_;
  size_t scratch_count_ = 0;
  bool is_complete_ = true, is_open_ = true;
  RowRecorder* outer_;
};

}  // namespace plait
