// The operations that ran under a sketch (tensor/tracing/derivation.h), so that they can be
// recomputed: on other tensors, and followed by the same levels. Host code does not run again, and
// nothing is drawn or printed twice: values that no level follows are stored.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "plait/core/location.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {

// Thrown while a sketch is open if a derivative needs a value that the sketch would drop: the
// function runs again, and everything is kept.
struct NeedsAllKept : Unwinding {};

class Recording {
 public:
  // A run computes the results, or only what their derivatives read.
  enum class Want { results, derivatives };

  // Records the operations that lead to the results, all of which are in the sketch. `inputs`
  // receives the tensors from outside that these operations read.
  static std::shared_ptr<const Recording> of(const Sketch& sketch, std::span<const Origin> results,
                                             std::vector<Tensor>& inputs);

  std::vector<Tensor> run(std::span<const Tensor> inputs, Want want) const;

 private:
  // Source of an operand: a result of an earlier entry, an input, or a constant.
  struct Source {
    enum class Kind : uint8_t { entry, input, constant } kind = Kind::constant;
    uint32_t number = 0;
    uint32_t result = 0;
  };
  struct Entry {
    const ir::Primitive* primitive;  // null: has `backward` or `recording`, or is the identity
    ir::Attributes attributes;
    Location location;  // location of the node, if known
    LevelSet levels;
    std::vector<Source> sources;
    std::vector<Tensor> constants;  // operands that are constants
    std::vector<Tensor> kept;       // the results, if they are not recomputed
    std::vector<OperandType> result_types;
    Node::Backward backward;
    Node::Forward forward;
    size_t residuals = 0;  // number of residuals, the last operands
    std::shared_ptr<const Recording> recording;
    std::shared_ptr<Listeners> listeners;
    std::vector<uint32_t> last_uses;  // entries whose results are not used after this one
    bool gives_results = false,
         gives_derivatives = false;  // true if its values are needed, for each Want
  };

  Recording() = default;
  void find_needed(bool Entry::* needed);
  void find_last_uses();
  static std::vector<Tensor> run(const Entry& entry, std::span<const Tensor> operands,
                                 bool is_needed);

  std::vector<Entry> entries_;
  std::vector<Source> results_;
};

// Policy of a sketch that stores no results.
bool store_nothing(const ir::Primitive& primitive, const ir::Attributes& attributes);

// Call it after a function has run under the sketch, and the sketch has ended. Replaces the
// recorded nodes of the results by one node, which reruns them in a backward pass.
std::vector<Tensor> replace_by_one_step(const Sketch& sketch, std::vector<Tensor> results);

}  // namespace plait
