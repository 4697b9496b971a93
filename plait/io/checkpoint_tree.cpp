#include "plait/io/checkpoint_tree.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

constexpr const char* kMapPart = "map";

// "Linear" of "plait::nn::Linear", "TrainState" of "plait::optim::TrainState<Net, …>": compilers
// spell the rest in several ways.
std::string class_name(std::string_view spelled) {
  const std::string_view whole = spelled.substr(0, spelled.find('<'));
  const size_t colon = whole.rfind("::");
  const std::string_view name = colon == std::string_view::npos ? whole : whole.substr(colon + 2);
  // <lambda(…)> or (lambda at …)
  return name.empty() || name.starts_with('(') ? "function" : std::string(name);
}

std::string text_of_static(const StaticValue& value) {
  if (value.keep != nullptr) return value.keep(value.object)->text();
  if (value.type.text == nullptr) return in_quotes(value.text);
  std::string text = value.type.text(value.word);
  // Its address is another one in the next process.
  return text.starts_with("the function at") ? "function" : text;
}

bool is_mode(std::string_view path) {
  constexpr std::string_view kTraining = "training";
  return path == kTraining || path.ends_with(".training");
}

}  // namespace

void CheckpointTree::add(const std::string& path, const Tensor& tensor) {
  if (!tensor) {
    parts[path] = "empty";
    return;
  }
  if (tensor.is_traced() || !tensor.is_array()) {
    throw ValueError("{} is a {}, which has no elements to save{}",
                     path.empty() ? "the tree" : path, tensor.type().text(),
                     tensor.is_traced() ? " while it is recorded" : "")
        .at(Location::of_caller())
        .hint("return it from the traced function, and save it outside");
  }
  const auto [first, is_new] = first_paths_.emplace(tensor.identity(), path);
  if (is_new) {
    add(path, tensor.array());
  } else {
    parts[path] = parts.at(first->second);
    same[path] = first->second;
  }
}

void CheckpointTree::add(const std::string& path, Array array) {
  if (!array) throw ValueError("the array to save as {} is empty", in_quotes(path));
  parts[path] = fmt::format("{}{}", name_of(array.dtype()), text_of_sizes(array.sizes()));
  arrays[path] = std::move(array);
}

const Array* CheckpointTree::find(const std::string& path) const {
  const auto other = same.find(path);
  const auto found = arrays.find(other == same.end() ? path : other->second);
  return found == arrays.end() ? nullptr : &found->second;
}

std::map<std::string, Tensor> CheckpointTree::tensors() const {
  std::map<std::string, Tensor> all;
  for (const auto& [path, array] : arrays) all.emplace(path, Tensor(array));
  for (const auto& [path, first] : same) all.emplace(path, all.at(first));
  return all;
}

void CheckpointPlaces::add(const std::string& path, Tensor& tensor) {
  tree.add(path, tensor);
  tensors.emplace_back(path, &tensor);
}

void CheckpointVisitor::leaf(void* leaf, const TreeType& type) {
  found.add(std::string(path()), trees::leaf_as<Tensor>(leaf, type));
}

void CheckpointVisitor::begin(const TreeType& type, uint64_t word) {
  const auto name = [&]() -> std::string {
    switch (type.form) {
      case TreeForm::record: return class_name(type.name);
      case TreeForm::tuple: return type.count == 0 ? class_name(type.name) : "tuple";
      case TreeForm::sequence: return "list";
      case TreeForm::map: return kMapPart;
      case TreeForm::optional: return word == 0 ? "nothing" : "";
      default: return "";  // at the path of what it holds
    }
  }();
  if (!name.empty()) found.tree.parts.emplace(path(), name);
}

void CheckpointVisitor::fixed(const StaticValue& value) {
  if (!is_mode(path())) found.tree.parts.emplace(path(), text_of_static(value));
}

CheckpointPlaces checkpoint_places(std::map<std::string, Tensor>& tensors) {
  CheckpointPlaces found;
  found.tree.parts[""] = kMapPart;
  for (auto& [name, tensor] : tensors) found.add(name, tensor);
  return found;
}

}  // namespace plait
