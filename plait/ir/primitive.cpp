#include "plait/ir/primitive.h"

#include <algorithm>
#include <array>
#include <deque>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/structure.h"

namespace plait::ir {

namespace {

constexpr size_t kStructureCount = static_cast<size_t>(Structure::custom_jvp) + 1;

struct Table {
  std::shared_mutex mutex;
  std::deque<Primitive> primitives;  // stable addresses
  std::unordered_map<std::string_view, const Primitive*> by_name;
  std::array<const Primitive*, kStructureCount> by_structure{};

  Table() {
    for (Primitive& p : data_primitives()) add(std::move(p));
    for (Primitive& p : control_primitives()) add(std::move(p));
  }

  const Primitive& add(Primitive primitive) {
    if (by_name.contains(primitive.name)) {
      throw ValueError("a primitive named `{}` is registered already", primitive.name);
    }
    primitive.number = static_cast<uint32_t>(primitives.size());
    const Primitive& kept = primitives.emplace_back(std::move(primitive));
    by_name.emplace(kept.name, &kept);
    if (kept.structure != Structure::machine) {
      by_structure[static_cast<size_t>(kept.structure)] = &kept;
    }
    return kept;
  }
};

Table& table() {
  static Table instance;
  return instance;
}

std::string near_misses(std::string_view name) {
  std::string out;
  for (const Primitive* candidate : primitives()) {
    if (!are_similar(name, candidate->name)) continue;
    out += (out.empty() ? "did you mean " : ", ") + candidate->name;
  }
  return out.empty() ? "`plait-ir ops` lists them" : out + "?";
}

}  // namespace

std::optional<IndexMap> identity_map(const Instruction& instruction) {
  IndexMap places;
  const auto rank = static_cast<uint32_t>(instruction.operand_type(0).rank());
  for (uint32_t i = 0; i < rank; ++i) places.dimensions.push_back({{{i}}});
  return places;
}

const Primitive& register_primitive(Primitive primitive) {
  Table& t = table();
  std::unique_lock lock(t.mutex);
  return t.add(std::move(primitive));
}

const Primitive* find_primitive(std::string_view name) {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  auto place = t.by_name.find(name);
  return place == t.by_name.end() ? nullptr : place->second;
}

const Primitive& primitive(std::string_view name) {
  if (const Primitive* found = find_primitive(name)) return *found;
  throw KeyError("unknown primitive `{}`", name).hint(near_misses(name));
}

std::vector<const Primitive*> primitives() {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  std::vector<const Primitive*> all;
  for (const Primitive& p : t.primitives) all.push_back(&p);
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return all;
}

size_t primitive_count() {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  return t.primitives.size();
}

DType elementwise_result(Elementwise elementwise, DType operands) {
  if (elementwise == Elementwise::truth) return DType::boolean;
  return elementwise == Elementwise::real ? real_dtype(operands) : operands;
}

const Primitive& primitive(Structure structure) {
  const Primitive* found = table().by_structure[static_cast<size_t>(structure)];
  if (!found) throw ValueError("Structure::machine is not one primitive");
  return *found;
}

}  // namespace plait::ir
