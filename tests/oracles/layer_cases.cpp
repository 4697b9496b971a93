#include "tests/oracles/layer_cases.h"

#include "plait/io/npz.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"

namespace plait {
namespace {

std::vector<LayerCase>& registered() {
  static std::vector<LayerCase> cases;
  return cases;
}

}  // namespace

LayerCases::LayerCases(std::initializer_list<LayerCase> cases) {
  registered().insert(registered().end(), cases.begin(), cases.end());
}

const std::vector<LayerCase>& layer_cases() { return registered(); }

void run_layer_cases(const std::string& folder) {
  for (const LayerCase& each : layer_cases()) {
    Arrays results;
    try {
      each.run(load_npz(folder + "/" + each.name + ".npz"), results);
    } catch (const Error& error) {
      throw ValueError("{}: {}", each.name, error.what());
    }
    save_npz(folder + "/" + each.name + ".out.npz", results);
  }
}

namespace layer_checks {

nn::State tensors_with(const Arrays& given, const std::string& prefix) {
  nn::State found;
  for (const auto& [name, array] : given) {
    if (name.starts_with(prefix)) found.emplace(name.substr(prefix.size()), Tensor(array));
  }
  return found;
}

Tensor weighted_sum(std::span<const Tensor> results) {
  Tensor total = zeros({}, DType::f64);
  for (const Tensor& result : results) {
    if (!is_floating(result.dtype())) continue;
    const Tensor numbers = cos(astype(iota(result.shape().element_count()), DType::f64));
    total = total + sum(reshape(numbers, result.shape()) * result);
  }
  return total;
}

}  // namespace layer_checks
}  // namespace plait
