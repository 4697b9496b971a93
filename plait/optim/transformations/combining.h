// Transformations of transformations: one after another, or each on some of the parameters.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

// Applies transformations one after another.
Transformation chain(std::vector<Transformation> transformations);
template <class... More>
Transformation chain(const Transformation& first, const More&... more) {
  return chain(std::vector<Transformation>{first, more...});
}
// The same; the parts of the state have these names.
Transformation named_chain(std::vector<std::pair<std::string, Transformation>> transformations);

// Which parameters: patterns of paths, in which * stands for any text and ? for any character, or a
// function of the parameters that says it for each path.
class Mask {
 public:
  using Function = std::function<std::map<std::string, bool>(const Tensors&)>;
  Mask(const char* pattern);                  // NOLINT
  Mask(std::string pattern);                  // NOLINT
  Mask(std::vector<std::string> patterns);    // NOLINT
  Mask(std::map<std::string, bool> by_path);  // NOLINT
  Mask(Function function);                    // NOLINT

  // ValueError, which begins with `what`, for a pattern that matches nothing, or if a parameter is
  // missing.
  std::map<std::string, bool> of(std::string_view what, const Tensors& parameters) const;

 private:
  struct Choice;
  std::shared_ptr<const Choice> choice_;
};

// Applies a transformation to some of the parameters; the updates of the others pass unchanged.
Transformation masked(Transformation inner, Mask mask);

// Which transformation each parameter has: pairs of a pattern of paths and a label, of which the
// first that matches counts, or a function of the parameters that gives the label of each path.
class Labels {
 public:
  using Function = std::function<std::map<std::string, std::string>(const Tensors&)>;
  using Patterns = std::vector<std::pair<std::string, std::string>>;
  Labels(Patterns patterns);  // NOLINT
  Labels(std::initializer_list<Patterns::value_type> patterns);
  Labels(Function function);  // NOLINT

  std::map<std::string, std::string> of(std::string_view what, const Tensors& parameters) const;

 private:
  struct Choice;
  std::shared_ptr<const Choice> choice_;
};

// Applies a transformation to each group of parameters.
Transformation partition(std::map<std::string, Transformation> transforms, Labels param_labels);
inline Transformation multi_transform(std::map<std::string, Transformation> transforms,
                                      Labels param_labels) {
  return partition(std::move(transforms), std::move(param_labels));
}

// Sets the updates of some parameters to zero. (nn::freeze makes a model whose parameters are
// frozen.)
Transformation freeze(Mask mask);
// Applies a transformation to the parameters that are not frozen; the updates of the frozen ones
// are zero, without a state.
Transformation selective_transform(Transformation optimizer, Mask freeze_mask);
// Applies a transformation to all parameters as one vector.
Transformation flatten(Transformation inner);
// Applies a transformation to the real and imaginary parts of complex parameters, as to separate
// ones.
Transformation split_real_and_imaginary(Transformation inner);

}  // namespace plait::optim
