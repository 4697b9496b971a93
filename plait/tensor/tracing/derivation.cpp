#include "plait/tensor/tracing/derivation.h"

#include <algorithm>

namespace plait {
namespace {

std::atomic<uint64_t> newest_node{0}, newest_sketch{0};

// Nodes without owners, which an outer call of this thread frees one by one.
struct Unowned {
  bool is_being_freed = false;
  std::vector<Node*> nodes;
};
thread_local Unowned unowned;

void free_with_all_below(Node* node) {
  unowned.nodes.push_back(node);
  if (unowned.is_being_freed) return;
  unowned.is_being_freed = true;
  while (!unowned.nodes.empty()) {
    Node* const next = unowned.nodes.back();
    unowned.nodes.pop_back();
    delete next;
  }
  unowned.is_being_freed = false;
}

}  // namespace

NodePtr::NodePtr(const NodePtr& other) : node_(other.node_) {
  if (node_) node_->owners.fetch_add(1, std::memory_order_relaxed);
}

NodePtr::~NodePtr() {
  if (node_ && release_owner(node_->owners)) free_with_all_below(node_);
}

uint64_t Node::newest_number() { return newest_node.load(); }

NodePtr new_node() {
  auto node = std::make_unique<Node>();
  node->number = ++newest_node;
  if (const Sketch* sketch = Sketch::current()) node->sketch = sketch->number();
  return NodePtr(node.release());
}

Sketch::Sketch(Keeps keeps)
    : keeps_(std::move(keeps)),
      outer_(ambient.sketch),
      number_(++newest_sketch),
      newest_level_(std::max(Level::ground()->number(), Level::newest())),
      resumes_(LevelResume::depth()) {
  ambient.sketch = this;
}

void Sketch::end() {
  if (!has_ended_) ambient.sketch = outer_;
  has_ended_ = true;
}

Tensor below(const Tensor& tensor, uint64_t level) {
  if (!tensor || !tensor.derivation()) return tensor;
  const Derivation& all = *tensor.derivation();
  Derivation kept;
  if (all.origin) {
    kept.origin = {{}, all.origin.result, all.origin.levels.below(level)};
    if (!kept.origin.levels.empty()) kept.origin.node = all.origin.node;
  }
  std::ranges::copy_if(all.tangents, std::back_inserter(kept.tangents),
                       [&](const auto& each) { return each->level->number() < level; });
  if (kept.empty()) return underived(tensor);
  return tensor.with_derivation(std::make_shared<const Derivation>(std::move(kept)));
}

Tensor underived(const Tensor& tensor) {
  return tensor && tensor.derivation() ? tensor.with_derivation(nullptr) : tensor;
}

bool is_followed(const Tensor& tensor) {
  if (!tensor.derivation()) return false;
  const Derivation& derivation = *tensor.derivation();
  return (derivation.origin && !derivation.origin.levels.still_open().empty()) ||
         std::ranges::any_of(derivation.tangents,
                             [](const auto& each) { return each->level->is_open(); });
}

bool is_followed(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) { return is_followed(tensor); });
}

}  // namespace plait
