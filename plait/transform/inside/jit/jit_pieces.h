// Execution in pieces, for functions that read values: the host code runs at each call, and what it
// computes between two reads is a piece, compiled once.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/analysis/identity.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/jit.h"

namespace plait::jits {

class Pieces {
 public:
  Pieces(const JitOptions& options, JitBackend backend)
      : options_(options), backend_(std::move(backend)) {}

  std::vector<Tensor> run(const TracedPiece& piece);
  // True if there are too many pieces: host code does something else each time.
  bool is_full() const;
  int64_t count() const;

 private:
  // Numbers from host code are constants of the piece, until one differs.
  struct Piece {
    std::vector<Tensor> constants;  // one an operand; empty if it is passed as an argument
    JitExecutable run;
  };
  Piece make(const TracedPiece& piece, std::vector<Tensor> constants) const;

  const JitOptions& options_;
  JitBackend backend_;
  mutable std::mutex mutex_;
  std::unordered_map<ir::Identity, Piece> pieces_;
  int64_t made_ = 0;
};

struct InPieces {
  std::string name;
  std::span<const ir::Type> types;  // types of the leaves
  const JitArguments& leaves;
  std::span<const SizeFact> facts;  // promised facts
  HostFunction host;
};
Outcome run_in_pieces(const InPieces& what, Pieces& pieces);

}  // namespace plait::jits
