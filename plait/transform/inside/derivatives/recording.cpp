#include "plait/transform/inside/derivatives/recording.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "plait/ops/arrays/create.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/derivatives/derivative.h"

namespace plait {
namespace {

// All nodes of the sketch on which these origins depend, the earliest first.
std::vector<const Node*> nodes_within(const Sketch& sketch, std::span<const Origin> results) {
  std::vector<const Node*> nodes;
  std::unordered_map<const Node*, bool> seen;
  const auto visit = [&](const Origin& origin) {
    if (!sketch.includes(origin)) return;
    if (seen.try_emplace(origin.node.get(), true).second) nodes.push_back(origin.node.get());
  };
  for (const Origin& result : results) visit(result);
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const Origin& input : nodes[i]->inputs) visit(input);
  }
  std::ranges::sort(nodes, {}, [](const Node* node) { return node->number; });
  return nodes;
}

// The open levels that follow the operands now and did not then.
LevelSet newly_following(const LevelSet& then, std::span<const Tensor> operands) {
  LevelSet levels;
  for (const Tensor& operand : operands) {
    if (!operand.derivation() || !operand.derivation()->origin) continue;
    levels = levels.with(operand.derivation()->origin.levels.still_open());
  }
  return levels.without(then);
}

// Placeholders of these types, for values that are not read.
std::vector<Tensor> without_numbers(std::span<const OperandType> types) {
  std::vector<Tensor> tensors;
  for (const OperandType& type : types) {
    const DeviceScope there(type.device());
    tensors.push_back(zeros(type.shape(), type.dtype()));
  }
  return tensors;
}

}  // namespace

std::shared_ptr<const Recording> Recording::of(const Sketch& sketch,
                                               std::span<const Origin> results,
                                               std::vector<Tensor>& inputs) {
  const std::shared_ptr<Recording> recording(new Recording);
  std::unordered_map<const Node*, uint32_t> entries;
  std::map<std::pair<const Node*, uint32_t>, uint32_t> known_inputs;
  const auto source_of = [&](const Origin& origin, const Tensor& operand) -> Source {
    if (!sketch.concerns(origin)) return {};
    if (sketch.includes(origin)) {
      return {Source::Kind::entry, entries.at(origin.node.get()), origin.result};
    }
    const auto [place, is_new] = known_inputs.try_emplace({origin.node.get(), origin.result},
                                                          static_cast<uint32_t>(inputs.size()));
    if (is_new) inputs.push_back(operand);
    return {Source::Kind::input, place->second};
  };
  for (const Node* node : nodes_within(sketch, results)) {
    Entry entry{.primitive = node->primitive,
                .attributes = node->attributes,
                .location = node->location,
                .levels = node->levels,
                .result_types = node->result_types,
                .backward = node->backward,
                .forward = node->forward,
                .residuals = node->residuals,
                .recording = node->recording,
                .listeners = node->listeners};
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Tensor& operand = node->operands[i];
      entry.sources.push_back(source_of(node->inputs[i], operand));
      const bool is_constant = entry.sources.back().kind == Source::Kind::constant;
      entry.constants.push_back(is_constant ? operand : Tensor());
    }
    const bool is_kept =
        node->backward || (node->primitive && sketch.keeps(*node->primitive, node->attributes));
    if (is_kept) {
      for (const Tensor& result : node->results) entry.kept.push_back(underived(result));
    }
    entries.emplace(node, static_cast<uint32_t>(recording->entries_.size()));
    recording->entries_.push_back(std::move(entry));
  }
  for (const Origin& result : results) recording->results_.push_back(source_of(result, {}));
  for (const Source& result : recording->results_) {
    recording->entries_[result.number].gives_results = true;
  }
  recording->find_needed(&Entry::gives_results);
  recording->find_needed(&Entry::gives_derivatives);
  recording->find_last_uses();
  return recording;
}

// An entry that is computed needs the values of its operands; any other entry needs what its
// rules read.
void Recording::find_needed(bool Entry::* needed) {
  for (size_t i = entries_.size(); i-- > 0;) {
    Entry& entry = entries_[i];
    Reads reads;
    if (entry.primitive != nullptr) {
      std::vector<bool> followed;
      for (const Source& source : entry.sources) {
        followed.push_back(source.kind != Source::Kind::constant);
      }
      reads = reads_of(*entry.primitive, followed);
      if (reads.results != 0) entry.*needed = true;
    }
    const bool is_computed = entry.recording || (entry.kept.empty() && entry.*needed);
    for (size_t k = 0; k < entry.sources.size(); ++k) {
      const Source& source = entry.sources[k];
      const bool is_residual = k >= entry.sources.size() - entry.residuals;
      const bool is_read =
          is_computed || is_residual || (entry.primitive != nullptr && reads_operand(reads, k));
      if (source.kind == Source::Kind::entry && is_read) entries_[source.number].*needed = true;
    }
  }
}

void Recording::find_last_uses() {
  std::vector<bool> is_used(entries_.size(), false);
  for (const Source& result : results_) is_used[result.number] = true;
  for (size_t i = entries_.size(); i-- > 0;) {
    for (const Source& source : entries_[i].sources) {
      if (source.kind != Source::Kind::entry || is_used[source.number]) continue;
      is_used[source.number] = true;
      entries_[i].last_uses.push_back(source.number);
    }
  }
}

std::vector<Tensor> Recording::run(std::span<const Tensor> inputs, Want want) const {
  std::vector<std::vector<Tensor>> values;
  const auto value_of = [&](const Source& source) {
    return source.kind == Source::Kind::input ? inputs[source.number]
                                              : values[source.number][source.result];
  };
  for (const Entry& entry : entries_) {
    std::vector<Tensor> operands = entry.constants;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (entry.sources[i].kind != Source::Kind::constant) operands[i] = value_of(entry.sources[i]);
    }
    const LevelPause pause(newly_following(entry.levels, operands));
    const LocationScope place(entry.location);
    const bool is_needed = want == Want::results ? entry.gives_results : entry.gives_derivatives;
    values.push_back(run(entry, operands, is_needed));
    for (const uint32_t used : entry.last_uses) values[used].clear();
  }
  std::vector<Tensor> results;
  for (const Source& result : results_) results.push_back(value_of(result));
  return results;
}

std::vector<Tensor> Recording::run(const Entry& entry, std::span<const Tensor> operands,
                                   bool is_needed) {
  std::vector<Tensor> results;
  if (entry.backward) {
    const auto inputs = operands.first(operands.size() - entry.residuals);
    const auto residuals = operands.last(entry.residuals);
    results = follow_custom({.inputs = {inputs.begin(), inputs.end()},
                             .residuals = {residuals.begin(), residuals.end()},
                             .results = entry.kept,
                             .backward = entry.backward,
                             .forward = entry.forward});
  } else if (entry.recording) {
    Sketch sketch(store_nothing);
    results = entry.recording->run(operands, Want::results);
    sketch.end();
    results = follow_recording(operands, std::move(results), entry.recording);
  } else if (entry.primitive == nullptr) {
    results.assign(operands.begin(), operands.end());
  } else if (!entry.kept.empty()) {
    results = follow_results(*entry.primitive, operands, entry.attributes, entry.kept);
  } else if (is_needed) {
    results = apply_differentiated(*entry.primitive, operands, entry.attributes);
  } else {
    results = follow_results(*entry.primitive, operands, entry.attributes,
                             without_numbers(entry.result_types));
  }
  if (entry.listeners) {
    for (const Tensor& result : results) {
      if (result.derivation() == nullptr || !result.derivation()->origin) continue;
      result.derivation()->origin.node->listeners = entry.listeners;
    }
  }
  return results;
}

namespace {

// Collects the tensors in the sketch: results and their tangents.
void collect_included(const Sketch& sketch, const Tensor& tensor, std::vector<Tensor>& parts) {
  if (!tensor || !tensor.derivation()) return;
  if (sketch.includes(tensor.derivation()->origin)) parts.push_back(tensor);
  for (const auto& each : tensor.derivation()->tangents) {
    collect_included(sketch, each->tangent, parts);
  }
}

// Puts the replacements in their places.
Tensor replace_included(const Sketch& sketch, const Tensor& tensor,
                        std::span<const Tensor>& parts) {
  if (!tensor || !tensor.derivation()) return tensor;
  Derivation derivation = *tensor.derivation();
  if (sketch.includes(derivation.origin)) {
    derivation.origin = parts.front().derivation()->origin;
    parts = parts.subspan(1);
  }
  for (auto& each : derivation.tangents) {
    each = std::make_shared<TangentOf>(
        TangentOf{each->level, replace_included(sketch, each->tangent, parts)});
  }
  return tensor.with_derivation(std::make_shared<const Derivation>(std::move(derivation)));
}

}  // namespace

bool store_nothing(const ir::Primitive&, const ir::Attributes&) { return false; }

std::vector<Tensor> replace_by_one_step(const Sketch& sketch, std::vector<Tensor> results) {
  std::vector<Tensor> parts, inputs;
  for (const Tensor& result : results) collect_included(sketch, result, parts);
  if (parts.empty()) return results;
  std::vector<Origin> origins;
  for (const Tensor& part : parts) origins.push_back(part.derivation()->origin);
  const auto recording = Recording::of(sketch, origins, inputs);
  parts = follow_recording(inputs, std::move(parts), recording);
  std::span<const Tensor> left = parts;
  for (Tensor& result : results) result = replace_included(sketch, result, left);
  return results;
}

}  // namespace plait
