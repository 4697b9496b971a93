// Elementwise operations on short rows, noted as they run, and then done again on rows of any
// length, a piece at a time: what lies between them stays in the nearest cache, no tensors are made
// for it, and nothing is asked about types.
//
//   RowNotes notes(pieces);              // a piece of each operand
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

class RowNotes {
 public:
  // Elements without gaps, or one that repeats. From here on, what this thread computes is noted.
  explicit RowNotes(std::span<const Array> given);
  ~RowNotes();
  RowNotes(const RowNotes&) = delete;
  RowNotes& operator=(const RowNotes&) = delete;

  // Those of this thread; null where nothing is noted.
  static RowNotes* current();

  // `sizes` are those of an element of each operand.
  void add(const Kernel& kernel, const RowCall& call, std::span<const int64_t> sizes,
           const Array& result);
  // As a row, if the operands are some that the kernel takes as rows.
  void add(const Kernel& kernel, std::span<const Array> operands, std::span<const Array> results);

  // Ends the notes, and tells whether they are all that made `result` of what was given.
  bool lead_to(const Array& result);

  // The same for longer rows, which lie as those given did.
  void repeat(std::span<const Array> given, Array& result) const;

 private:
  enum class Origin : uint8_t { given, step, number };
  struct Operand {
    Origin origin = Origin::given;
    size_t index = 0;  // of what is given, of the step, or where the number's bytes begin
    int64_t step = 0;  // in bytes
  };
  struct Step {
    Kernel kernel;
    DType dtype = DType::f32;
    std::array<Operand, 3> operands;
    size_t count = 0;
    Array result;         // kept, so that nothing else lies there
    size_t scratch = 0;   // which piece of scratch memory the result has
    size_t last_use = 0;  // the number of a step
  };
  class Piece;

  std::optional<Operand> operand_of(const std::byte* data, int64_t step, int64_t size);
  void assign_scratch();

  std::vector<Array> given_;
  std::vector<Step> steps_;
  std::vector<std::byte> numbers_;
  size_t scratch_count_ = 0;
  bool is_complete_ = true, is_open_ = true;
  RowNotes* outer_;
};

}  // namespace plait
