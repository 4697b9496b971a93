#include "plait/ir/analysis/identity.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plait/core/error.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/inside/analysis/type_walk.h"
#include "plait/ir/inside/text/binary.h"

namespace plait::ir {
namespace {

Hash128 hash_of_parts(std::span<const Hash128> parts) {
  Hasher hasher;
  for (const Hash128& part : parts) {
    hasher.update(part.high);
    hasher.update(part.low);
  }
  return hasher.finish();
}

// Renames sizes by the order of their appearance.
class NumberedSizes {
 public:
  void add(std::span<const Dim> sizes) {
    for (Dim size : sizes)
      if (!names_.find(size)) names_.set(size, Dim::symbol("s" + std::to_string(names_.size())));
  }
  std::function<Dim(Dim)> renaming() const {
    return [this](Dim size) { return size.substitute(names_); };
  }

 private:
  SymbolMap<Dim> names_;
};

// Hashes of records: of their own content and of all records in them, recursively.
class RecordContents {
 public:
  explicit RecordContents(const Program& program) : program_(program) {
    for (const RecordType& record : program.records()) {
      NumberedSizes sizes;
      sizes.add(record.parameters);
      sizes.add(record.held);
      ByteWriter writer;
      writer.rename_size = sizes.renaming();
      write_record(writer, record);
      own_.emplace(record.name, hash_of(writer.bytes()));
    }
  }

  void collect(const Type& type, std::set<std::string_view>& names) const {
    for_each_type(type, [&](const Type& inner) {
      if (inner.is_record()) collect_from(inner.record_name(), names);
    });
  }
  Hash128 hash(const std::set<std::string_view>& names) const {
    Hasher hasher;
    for (std::string_view name : names) {
      hasher.update(name.size());
      hasher.update(name);
      if (auto place = own_.find(name); place != own_.end()) hasher.update(place->second.text());
    }
    return hasher.finish();
  }

 private:
  void collect_from(std::string_view first, std::set<std::string_view>& names) const {
    std::vector<std::string_view> waiting{first};
    while (!waiting.empty()) {
      std::string_view name = waiting.back();
      waiting.pop_back();
      if (!names.insert(name).second) continue;
      const RecordType* record = program_.find_record(name);
      if (!record) continue;
      for (const Type& field : record->fields)
        for_each_type(field, [&](const Type& inner) {
          if (inner.is_record()) waiting.push_back(inner.record_name());
        });
    }
  }

  const Program& program_;
  std::unordered_map<std::string_view, Hash128> own_;
};

class Identification {
 public:
  Identification(const Program& program, const IdentityOptions& options)
      : options_(options),
        graph_(program),
        records_(program),
        identities_(program.functions().size()) {
    for (uint32_t function = 0; function < identities_.size(); ++function) {
      skeletons_.push_back(skeleton_of(program.function(function)));
      for_each_callee(program, function, [&](const Instruction&, size_t, uint32_t callee) {
        callees_.append(callee);
      });
      callees_.end_list();
    }
  }

  std::vector<Identity> run() {
    for (size_t component = 0; component < graph_.component_count(); ++component) {
      if (!graph_.is_recursive(component)) {
        identify_alone(graph_.component(component)[0]);
      } else if (!repeats_another(component)) {
        refine(component);
        remember(component);
      }
    }
    return std::move(identities_);
  }

 private:
  // A hash of the function without the identities of its callees.
  Hash128 skeleton_of(const Function& function) const {
    std::set<std::string_view> records;
    for (ValueId value = 0; value < function.value_count(); ++value)
      records_.collect(function.type_of(value), records);
    for (const Type& type : function.signature().results) records_.collect(type, records);
    Hash128 parts[] = {hash_of_signature(function), hash_of_body(function), records_.hash(records)};
    return hash_of_parts(parts);
  }

  // Names of result sizes are visible to callers only; in the body the same names may be other
  // sizes. So signature and body are numbered separately.
  Hash128 hash_of_signature(const Function& function) const {
    NumberedSizes sizes;
    sizes.add(function.signature().size_parameters);
    sizes.add(function.signature().result_sizes);
    ByteWriter writer = writer_with(sizes);
    write_signature(writer, function, kBlank);
    return hash_of(writer.bytes());
  }

  Hash128 hash_of_body(const Function& function) const {
    NumberedSizes sizes;
    sizes.add(function.signature().size_parameters);
    for (Instruction instruction : function.instructions()) sizes.add(instruction.size_results());
    ByteWriter writer = writer_with(sizes);
    write_body(writer, function, kBlank);
    return hash_of(writer.bytes());
  }

  ByteWriter writer_with(const NumberedSizes& sizes) const {
    ByteWriter writer;
    writer.rename_size = sizes.renaming();
    writer.literals_by_identity = options_.literals_by_buffer;
    return writer;
  }

  Hash128 with_callees(uint32_t function, const Hash128& first,
                       const std::vector<Hash128>& colours) const {
    std::vector<Hash128> parts{first};
    for (uint32_t callee : callees_[function]) parts.push_back(colours[callee]);
    return hash_of_parts(parts);
  }

  // Colour refinement: functions with different content get different colours; in each round so do
  // functions whose callees have different colours, until a round changes nothing.
  void refine(size_t component) {
    std::span<const uint32_t> members = graph_.component(component);
    for (uint32_t function : members) identities_[function] = Hash128{};
    std::vector<Hash128> next(members.size());
    for (size_t classes = 0;;) {
      for (size_t i = 0; i < members.size(); ++i)
        next[i] = with_callees(members[i], combined(members[i]), identities_);
      for (size_t i = 0; i < members.size(); ++i) identities_[members[i]] = next[i];
      std::unordered_set<Hash128> distinct(next.begin(), next.end());
      if (distinct.size() == classes) return;
      classes = distinct.size();
    }
  }

  Hash128 combined(uint32_t function) const {
    Hash128 parts[] = {skeletons_[function], identities_[function]};
    return hash_of_parts(parts);
  }

  // A function may be an unrolled copy of a recursive one: `f` calls `g`, where `g` calls itself
  // and is otherwise equal to `f`. Then they get the same identity.
  void identify_alone(uint32_t function) {
    Identity unfolded = with_callees(function, skeletons_[function], identities_);
    auto original = unfolded_.find(unfolded);
    identities_[function] = original == unfolded_.end() ? unfolded : original->second;
  }

  // If one function of a component is an unrolled copy, all are, each of a function that the first
  // one's original reaches; so only one needs to be tested.
  bool repeats_another(size_t component) {
    uint32_t first = graph_.component(component)[0];
    auto originals = originals_.find(skeletons_[first]);
    if (originals == originals_.end()) return false;
    return std::ranges::any_of(
        originals->second, [&](uint32_t original) { return repeats(component, first, original); });
  }

  void remember(size_t component) {
    for (uint32_t function : graph_.component(component)) {
      Identity unfolded = with_callees(function, skeletons_[function], identities_);
      if (unfolded_.emplace(unfolded, identities_[function]).second)
        originals_[skeletons_[function]].push_back(function);
    }
  }

  // Coinductive test: assumes that the two, and with them their callees, are equal, until there is
  // a contradiction.
  bool repeats(size_t component, uint32_t copy, uint32_t original) {
    if (skeletons_[copy] != skeletons_[original]) return false;
    std::unordered_map<uint32_t, uint32_t> assumed{{copy, original}};
    std::vector<uint32_t> waiting{copy};
    while (!waiting.empty()) {
      uint32_t function = waiting.back();
      waiting.pop_back();
      std::span<const uint32_t> mine = callees_[function], theirs = callees_[assumed.at(function)];
      for (size_t i = 0; i < mine.size(); ++i) {
        if (graph_.component_of(mine[i]) != component) {
          if (identities_[mine[i]] != identities_[theirs[i]]) return false;
          continue;
        }
        auto [place, added] = assumed.emplace(mine[i], theirs[i]);
        if (!added && identities_[place->second] != identities_[theirs[i]]) return false;
        if (!added) continue;
        if (skeletons_[mine[i]] != skeletons_[theirs[i]]) return false;
        waiting.push_back(mine[i]);
      }
    }
    for (auto [function, same_as] : assumed) identities_[function] = identities_[same_as];
    return true;
  }

  inline static const BodyOptions kBlank{.names = false,
                                         .write_callee = [](ByteWriter&, const Callee&) {}};

  const IdentityOptions& options_;
  CallGraph graph_;
  RecordContents records_;
  NumberLists callees_;  // callees of all instructions of a function in order, with repetitions
  std::vector<Hash128> skeletons_;
  std::vector<Identity> identities_;
  // Recursive functions: identities by the hash that includes their callees' identities; and one
  // function for each identity, by skeleton.
  std::unordered_map<Hash128, Identity> unfolded_;
  std::unordered_map<Hash128, std::vector<uint32_t>> originals_;
};

}  // namespace

std::vector<Identity> identities(const Program& program, const IdentityOptions& options) {
  return Identification(program, options).run();
}

Identity identity_of(const Program& program, size_t function, const IdentityOptions& options) {
  if (function >= program.functions().size())
    throw IndexError("function {} of a program of {}", function, program.functions().size());
  return identities(program, options)[function];
}

bool same(const Program& a, size_t function_a, const Program& b, size_t function_b,
          const IdentityOptions& options) {
  return identity_of(a, function_a, options) == identity_of(b, function_b, options);
}

}  // namespace plait::ir
