// What a function that reads numbers computes between two reads. Its host code is run at each call,
// and what that does is matched with the pieces that are known.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/ir/analysis/identity.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/jit.h"

namespace plait::jits {

class Pieces {
 public:
  Pieces(const JitOptions& options, JitBackend backend)
      : options_(options), backend_(std::move(backend)) {}

  std::vector<Tensor> run(const TracedPiece& piece);
  // Where there are too many, since host code does something else each time.
  bool is_full() const;
  int64_t count() const;

 private:
  // A number that host code puts in is part of the program until it is another one.
  struct Piece {
    std::vector<Tensor> constants;  // for each operand; empty where it is handed over
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
  std::span<const ir::Type> types;  // of the leaves
  const JitArguments& leaves;
  std::span<const SizeFact> facts;  // that are promised
  HostFunction host;
};
Outcome run_in_pieces(const InPieces& what, Pieces& pieces);

}  // namespace plait::jits
