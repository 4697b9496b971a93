#include "plait/text/inside/training/piece_lattice.h"

#include <cmath>
#include <limits>
#include <queue>

#include "plait/text/inside/code_points.h"

namespace plait::text {
namespace {

constexpr double kUnknownPenalty = 10;

// log(exp(x) + exp(y))
double log_of_sum(double x, double y) {
  const double greater = std::max(x, y), less = std::min(x, y);
  constexpr double kNegligible = 50;
  return greater > less + kNegligible ? greater : greater + std::log(std::exp(less - greater) + 1);
}

// The logarithm of a sum that is added up term by term.
class LogSum {
 public:
  void add(double logarithm) {
    value_ = is_empty_ ? logarithm : log_of_sum(value_, logarithm);
    is_empty_ = false;
  }
  double value() const { return value_; }

 private:
  double value_ = 0;
  bool is_empty_ = true;
};

}  // namespace

PieceTable::PieceTable(std::vector<ScoredToken> given) : pieces(std::move(given)) {
  std::vector<ByteTrie::Key> keys;
  for (uint32_t id = 1; id < pieces.size(); ++id) keys.emplace_back(pieces[id].text, id);
  trie = ByteTrie(std::move(keys));
  unknown_score = least_score() - kUnknownPenalty;
}

double PieceTable::least_score() const {
  double least = std::numeric_limits<double>::infinity();
  for (size_t id = 1; id < pieces.size(); ++id) least = std::min(least, pieces[id].score);
  return least;
}

Lattice::Lattice(std::string_view word, const PieceTable& table)
    : size_(static_cast<uint32_t>(word.size())), ending_(size_ + 1), beginning_(size_ + 1) {
  for (uint32_t begin = 0; begin < size_;) {
    const auto add = [&](uint32_t size, uint32_t id, double score) {
      const auto node = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({begin, begin + size, id, score});
      beginning_[begin].push_back(node);
      ending_[begin + size].push_back(node);
    };
    const auto character =
        static_cast<uint32_t>(utf8_size(static_cast<unsigned char>(word[begin])));
    bool has_single_character = false;
    table.trie.for_each_prefix(word.substr(begin), [&](size_t size, uint32_t id) {
      add(static_cast<uint32_t>(size), id, table.pieces[id].score);
      has_single_character = has_single_character || size == character;
    });
    if (!has_single_character) add(character, 0, table.unknown_score);
    begin += character;
  }
}

// The forward-backward algorithm: the probability of a node is that of all paths into it, times
// its own, times that of all paths out of it.
void Lattice::add_expected(double count, std::vector<double>& expected) const {
  std::vector<double> before(size_ + 1, 0), after(size_ + 1, 0);
  for (uint32_t at = 1; at <= size_; ++at) {
    LogSum sum;
    for (const uint32_t i : ending_[at]) sum.add(nodes_[i].score + before[nodes_[i].begin]);
    before[at] = sum.value();
  }
  for (uint32_t at = size_; at-- > 0;) {
    LogSum sum;
    for (const uint32_t i : beginning_[at]) sum.add(nodes_[i].score + after[nodes_[i].end]);
    after[at] = sum.value();
  }
  for (const Node& node : nodes_) {
    const double logarithm = before[node.begin] + node.score + after[node.end] - before[size_];
    expected[node.id] += count * std::exp(logarithm);
  }
}

std::vector<Lattice::Path> Lattice::best_paths() const {
  std::vector<Path> paths(nodes_.size());
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    Path& path = paths[i];
    path = {node.score, kNone};
    for (const uint32_t before : ending_[node.begin]) {
      const double score = paths[before].score + node.score;
      if (path.before == kNone || score > path.score) path = {score, before};
    }
  }
  return paths;
}

std::vector<uint32_t> Lattice::best() const {
  const std::vector<Path> paths = best_paths();
  uint32_t last = kNone;
  for (const uint32_t i : ending_[size_]) {
    if (last == kNone || paths[i].score > paths[last].score) last = i;
  }
  std::vector<uint32_t> ids;
  for (; last != kNone; last = paths[last].before) ids.push_back(nodes_[last].id);
  return {ids.rbegin(), ids.rend()};
}

// A* from the end; the heuristic is the best forward score.
std::vector<std::vector<uint32_t>> Lattice::two_best() const {
  struct Partial {
    double best, score;  // with the best beginning; of the nodes so far
    std::vector<uint32_t> nodes;
    bool operator<(const Partial& other) const { return best < other.best; }
  };
  const std::vector<Path> paths = best_paths();
  std::priority_queue<Partial> partials;
  const auto extend = [&](const Partial& partial, uint32_t end) {
    for (const uint32_t i : ending_[end]) {
      Partial longer{paths[i].score + partial.score, nodes_[i].score + partial.score,
                     partial.nodes};
      longer.nodes.push_back(i);
      partials.push(std::move(longer));
    }
  };
  extend({0, 0, {}}, size_);
  std::vector<std::vector<uint32_t>> results;
  while (!partials.empty() && results.size() < 2) {
    const Partial top = partials.top();
    partials.pop();
    const uint32_t begin = nodes_[top.nodes.back()].begin;
    if (begin > 0) {
      extend(top, begin);
      continue;
    }
    std::vector<uint32_t>& ids = results.emplace_back();
    for (size_t i = top.nodes.size(); i-- > 0;) ids.push_back(nodes_[top.nodes[i]].id);
  }
  return results;
}

}  // namespace plait::text
