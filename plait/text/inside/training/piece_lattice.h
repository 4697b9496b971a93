// All segmentations of a word into tokens of a Unigram model, with their probabilities.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/text/inside/models/byte_trie.h"
#include "plait/text/inside/models/unigram.h"

namespace plait::text {

// The candidates for tokens while a model is trained. The first one stands for unknown characters.
struct PieceTable {
  std::vector<ScoredToken> pieces;
  ByteTrie trie;
  double unknown_score;

  explicit PieceTable(std::vector<ScoredToken> pieces);
  double least_score() const;
};

class Lattice {
 public:
  Lattice(std::string_view word, const PieceTable& table);

  // Adds to `expected` how often each piece is expected in `count` of these words.
  void add_expected(double count, std::vector<double>& expected) const;
  // The ids of the best segmentation.
  std::vector<uint32_t> best() const;
  // The 2-best segmentations; one if there is no other.
  std::vector<std::vector<uint32_t>> two_best() const;

 private:
  struct Node {
    uint32_t begin, end, id;
    double score;
  };
  // The best path through a node.
  struct Path {
    double score;
    uint32_t before;  // the node; kNone at the beginning
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  std::vector<Path> best_paths() const;

  uint32_t size_;
  std::vector<Node> nodes_;                    // by their beginnings
  std::vector<std::vector<uint32_t>> ending_;  // the nodes that end at a place
  std::vector<std::vector<uint32_t>> beginning_;
};

}  // namespace plait::text
