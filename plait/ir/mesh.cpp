#include "plait/ir/mesh.h"

namespace plait::ir {

AxisSet::AxisSet(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) insert(name);
}

void AxisSet::insert(std::string_view name) {
  auto place = std::lower_bound(names_.begin(), names_.end(), name);
  if (place == names_.end() || *place != name) names_.emplace(place, name);
}

void AxisSet::insert(const AxisSet& other) {
  for (const std::string& name : other) insert(name);
}

void AxisSet::erase(std::string_view name) {
  auto place = std::lower_bound(names_.begin(), names_.end(), name);
  if (place != names_.end() && *place == name) names_.erase(place);
}

bool AxisSet::contains(std::string_view name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

bool AxisSet::contains(const AxisSet& other) const {
  return std::includes(names_.begin(), names_.end(), other.begin(), other.end());
}

bool AxisSet::intersects(const AxisSet& other) const {
  return std::any_of(other.begin(), other.end(),
                     [this](const std::string& name) { return contains(name); });
}

std::string AxisSet::text() const {
  std::string out = "{";
  for (const std::string& name : names_) {
    if (out.size() > 1) out += ", ";
    out += name;
  }
  return out + "}";
}

const Mesh::Axis* Mesh::find(std::string_view name) const {
  auto place =
      std::find_if(axes.begin(), axes.end(), [&](const Axis& a) { return a.name == name; });
  return place == axes.end() ? nullptr : &*place;
}

}  // namespace plait::ir
