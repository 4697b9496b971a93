#include "plait/optim/transformations/combining.h"

#include <set>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/optim/inside/paths.h"
#include "plait/optim/inside/transformation_rule.h"

namespace plait::optim {
namespace {

using Named = std::vector<std::pair<std::string, Transformation>>;

struct ChainRule final : TransformationRule {
  ChainRule(std::string rule, Named given)
      : TransformationRule(std::move(rule)), parts(std::move(given)) {}

  State init(const Tensors& parameters) const override {
    State made;
    for (const auto& [part, each] : parts) made.parts.emplace(part, each.init(parameters));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    if (state.parts.size() != parts.size()) {
      throw ValueError("{}: the state has {} parts, expected {}", name, state.parts.size(),
                       parts.size())
          .at(Location::of_caller());
    }
    Tensors made = updates;
    for (const auto& [part, each] : parts) {
      made = update_of(each, made, state.parts.at(part), parameters, options);
    }
    return made;
  }
  Named parts;
};

Tensors chosen_of(const Tensors& tensors, const std::map<std::string, bool>& are_in) {
  Tensors found;
  for (const auto& [path, value] : tensors) {
    const auto choice = are_in.find(path);
    if (choice != are_in.end() && choice->second) found.emplace(path, value);
  }
  return found;
}

UpdateOptions chosen_of(UpdateOptions options, const std::map<std::string, bool>& are_in) {
  options.grad = chosen_of(options.grad, are_in);
  return options;
}

// One step of a transformation of the chosen parameters, in place.
void update_chosen(const Transformation& inner, const std::map<std::string, bool>& are_in,
                   Tensors& updates, State& state, const Tensors& parameters,
                   const UpdateOptions& options) {
  const Tensors made = update_of(inner, chosen_of(updates, are_in), state,
                                 chosen_of(parameters, are_in), chosen_of(options, are_in));
  for (const auto& [path, value] : made) updates.at(path) = value;
}

struct MaskedRule final : TransformationRule {
  MaskedRule(Transformation transformation, Mask choice)
      : TransformationRule("optim::masked"),
        inner(std::move(transformation)),
        mask(std::move(choice)) {}
  State init(const Tensors& parameters) const override {
    State made;
    made.parts.emplace("inner", inner.init(chosen_of(parameters, mask.of(name, parameters))));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    Tensors made = updates;
    update_chosen(inner, mask.of(name, updates), made, state.parts.at("inner"), parameters,
                  options);
    return made;
  }
  Transformation inner;
  Mask mask;
};

struct PartitionRule final : TransformationRule {
  PartitionRule(std::map<std::string, Transformation> transforms, Labels choice)
      : TransformationRule("optim::partition"),
        by_label(std::move(transforms)),
        labels(std::move(choice)) {}

  std::map<std::string, std::map<std::string, bool>> masks(const Tensors& parameters) const {
    std::map<std::string, std::map<std::string, bool>> found;
    for (const auto& [path, label] : labels.of(name, parameters)) {
      if (!by_label.contains(label)) {
        std::vector<std::string> all;
        for (const auto& [each, transformation] : by_label) all.push_back(each);
        throw ValueError("{}: the label of {} is {}, which has no transformation; there are {}",
                         name, path, in_quotes(label), fmt::join(all, ", "))
            .at(Location::of_caller());
      }
      found[label][path] = true;
    }
    return found;
  }
  State init(const Tensors& parameters) const override {
    auto all = masks(parameters);
    State made;
    for (const auto& [label, each] : by_label) {
      made.parts.emplace(label, each.init(chosen_of(parameters, all[label])));
    }
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    auto all = masks(updates);
    Tensors made = updates;
    for (const auto& [label, each] : by_label) {
      if (all[label].empty()) continue;
      update_chosen(each, all[label], made, state.parts.at(label), parameters, options);
    }
    return made;
  }
  std::map<std::string, Transformation> by_label;
  Labels labels;
};

// Applies a transformation to other tensors, which are made of the parameters.
struct MappedRule : TransformationRule {
  MappedRule(std::string rule, Transformation transformation)
      : TransformationRule(std::move(rule)), inner(std::move(transformation)) {}
  virtual Tensors there(const Tensors& tensors) const = 0;
  virtual Tensors back(const Tensors& made, const Tensors& like) const = 0;

  State init(const Tensors& parameters) const override {
    State made;
    made.parts.emplace("inner", inner.init(there(parameters)));
    return made;
  }
  Tensors update(const Tensors& updates, State& state, const Tensors& parameters,
                 const UpdateOptions& options) const override {
    const Tensors made =
        update_of(inner, there(updates), state.parts.at("inner"), there(parameters), options);
    return back(made, updates);
  }
  Transformation inner;
};

struct FlattenRule final : MappedRule {
  explicit FlattenRule(Transformation transformation)
      : MappedRule("optim::flatten", std::move(transformation)) {}
  Tensors there(const Tensors& tensors) const override {
    std::vector<Tensor> parts;
    for (const auto& [path, value] : tensors) parts.push_back(plait::flatten(value));
    if (parts.empty()) return {};
    return {{"all", concat(parts)}};
  }
  Tensors back(const Tensors& made, const Tensors& like) const override {
    Tensors found;
    Dim begin = 0;
    for (const auto& [path, value] : like) {
      const Dim size = value.shape().element_count();
      found.emplace(path, reshape(slice_axis(made.at("all"), 0, begin, size), value.shape()));
      begin = begin + size;
    }
    return found;
  }
};

struct SplitRule final : MappedRule {
  explicit SplitRule(Transformation transformation)
      : MappedRule("optim::split_real_and_imaginary", std::move(transformation)) {}
  Tensors there(const Tensors& tensors) const override {
    Tensors made;
    for (const auto& [path, value] : tensors) {
      if (is_complex(value.dtype())) {
        made.emplace(path + ".real", real(value));
        made.emplace(path + ".imaginary", imag(value));
      } else {
        made.emplace(path, value);
      }
    }
    return made;
  }
  Tensors back(const Tensors& made, const Tensors& like) const override {
    Tensors found;
    for (const auto& [path, value] : like) {
      found.emplace(path, is_complex(value.dtype())
                              ? make_complex(made.at(path + ".real"), made.at(path + ".imaginary"))
                              : made.at(path));
    }
    return found;
  }
};

}  // namespace

Transformation chain(std::vector<Transformation> transformations) {
  Named named;
  for (size_t i = 0; i < transformations.size(); ++i) {
    named.emplace_back(std::to_string(i), transformations[i]);
  }
  return transformation_of<ChainRule>("optim::chain", std::move(named));
}

Transformation named_chain(Named transformations) {
  std::set<std::string> names;
  for (const auto& [name, each] : transformations) {
    if (names.insert(name).second) continue;
    throw ValueError("optim::named_chain: the name {} appears twice", in_quotes(name))
        .at(Location::of_caller());
  }
  return transformation_of<ChainRule>("optim::named_chain", std::move(transformations));
}

struct Mask::Choice {
  std::variant<std::vector<std::string>, Function> of;
};
Mask::Mask(const char* pattern) : Mask(std::vector<std::string>{pattern}) {}
Mask::Mask(std::string pattern) : Mask(std::vector{std::move(pattern)}) {}
Mask::Mask(std::vector<std::string> patterns)
    : choice_(std::make_shared<const Choice>(Choice{std::move(patterns)})) {}
Mask::Mask(std::map<std::string, bool> by_path)
    : Mask(Function([by_path = std::move(by_path)](const Tensors&) { return by_path; })) {}
Mask::Mask(Function function)
    : choice_(std::make_shared<const Choice>(Choice{std::move(function)})) {}

std::map<std::string, bool> Mask::of(std::string_view what, const Tensors& parameters) const {
  const std::vector<std::string> paths = names_of(parameters);
  std::map<std::string, bool> found;
  if (const auto* const patterns = std::get_if<std::vector<std::string>>(&choice_->of)) {
    const auto matches = matching(what, *patterns, paths);
    for (size_t i = 0; i < paths.size(); ++i) found[paths[i]] = matches[i].has_value();
    return found;
  }
  found = std::get<Function>(choice_->of)(parameters);
  for (const std::string& path : paths) {
    if (found.contains(path)) continue;
    throw ValueError("{}: the mask has nothing for the parameter {}", what, path)
        .at(Location::of_caller())
        .hint("give it an entry, or use patterns such as \"*.bias\"");
  }
  return found;
}

struct Labels::Choice {
  std::variant<Patterns, Function> of;
};
Labels::Labels(Patterns patterns)
    : choice_(std::make_shared<const Choice>(Choice{std::move(patterns)})) {}
Labels::Labels(std::initializer_list<Patterns::value_type> patterns) : Labels(Patterns(patterns)) {}
Labels::Labels(Function function)
    : choice_(std::make_shared<const Choice>(Choice{std::move(function)})) {}

std::map<std::string, std::string> Labels::of(std::string_view what,
                                              const Tensors& parameters) const {
  if (const auto* const function = std::get_if<Function>(&choice_->of)) {
    return (*function)(parameters);
  }
  const auto& patterns = std::get<Patterns>(choice_->of);
  std::vector<std::string> first;
  for (const auto& [pattern, label] : patterns) first.push_back(pattern);
  const std::vector<std::string> paths = names_of(parameters);
  const auto matches = matching(what, first, paths);
  std::map<std::string, std::string> found;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!matches[i]) {
      throw ValueError("{}: no pattern matches the parameter {}", what, paths[i])
          .at(Location::of_caller())
          .hint("add \"*\" as the last pattern");
    }
    found[paths[i]] = patterns[*matches[i]].second;
  }
  return found;
}

Transformation masked(Transformation inner, Mask mask) {
  return transformation_of<MaskedRule>(std::move(inner), std::move(mask));
}

Transformation partition(std::map<std::string, Transformation> transforms, Labels param_labels) {
  return transformation_of<PartitionRule>(std::move(transforms), std::move(param_labels));
}

Transformation freeze(Mask mask) { return masked(set_to_zero(), std::move(mask)); }

Transformation selective_transform(Transformation optimizer, Mask freeze_mask) {
  const auto labels = [mask = std::move(freeze_mask)](const Tensors& parameters) {
    std::map<std::string, std::string> found;
    for (const auto& [path, is_frozen] : mask.of("optim::selective_transform", parameters)) {
      if (parameters.contains(path)) found[path] = is_frozen ? "freeze" : "train";
    }
    return found;
  };
  return partition({{"train", std::move(optimizer)}, {"freeze", set_to_zero()}},
                   Labels::Function(labels));
}

Transformation flatten(Transformation inner) {
  return transformation_of<FlattenRule>(std::move(inner));
}
Transformation split_real_and_imaginary(Transformation inner) {
  return transformation_of<SplitRule>(std::move(inner));
}

}  // namespace plait::optim
