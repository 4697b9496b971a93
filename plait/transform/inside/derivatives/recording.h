// What was computed under a sketch (tensor/tracing/derivation.h), to be computed again: among other
// tensors, followed by the levels that followed it then. No host code runs for it, nothing is drawn
// at random or printed a second time: what no level follows is kept as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/core/location.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/trace.h"

namespace plait {

// Thrown while a sketch is open where a derivative needs what it would leave out: the function is
// run once more, and everything is kept.
struct NeedsAllKept : Unwinding {};

class Recording {
 public:
  // Whether the numbers of the results are needed too, or only what their derivatives need.
  enum class Want { results, derivatives };

  // Of what led to the results, all of which the sketch includes. `inputs` are the tensors from
  // outside of it that it began with.
  static std::shared_ptr<const Recording> of(const Sketch& sketch, std::span<const Origin> results,
                                             std::vector<Tensor>& inputs);

  std::vector<Tensor> run(std::span<const Tensor> inputs, Want want) const;

 private:
  // Where an operand comes from: a result of an earlier entry, an input, or neither.
  struct Source {
    enum class Kind : uint8_t { entry, input, constant } kind = Kind::constant;
    uint32_t number = 0;
    uint32_t result = 0;
  };
  struct Entry {
    const ir::Primitive*
        primitive;  // null: one of `backward` or `recording`, or the operand itself
    ir::Attributes attributes;
    Location location;  // where the step has one
    LevelSet levels;
    std::vector<Source> sources;
    std::vector<Tensor> constants;  // in the place of those that are
    std::vector<Tensor> kept;       // the results, where they need not be computed again
    std::vector<OperandType> result_types;
    Step::Backward backward;
    Step::Forward forward;
    size_t residuals = 0;  // how many of the last operands are such
    std::shared_ptr<const Recording> recording;
    std::shared_ptr<Listeners> listeners;
    std::vector<uint32_t> last_uses;  // entries whose results nobody needs any more after this one
    bool gives_results = false, gives_derivatives = false;  // whether somebody needs its numbers
  };

  Recording() = default;
  void find_needed(bool Entry::* needed);
  void find_last_uses();
  static std::vector<Tensor> run(const Entry& entry, std::span<const Tensor> operands,
                                 bool is_needed);

  std::vector<Entry> entries_;
  std::vector<Source> results_;
};

// Of a sketch that keeps no results.
bool keep_nothing(const ir::Primitive& primitive, const ir::Attributes& attributes);

// The results of a function that ran under the sketch, which has ended: in place of all that was
// noted there stands one step, which runs it again when it is swept.
std::vector<Tensor> stand_for(const Sketch& sketch, std::vector<Tensor> results);

}  // namespace plait
