// The verifier's rules about types: records, type rules, results of functions.
#include <unordered_map>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/inside/analysis/type_walk.h"
#include "plait/ir/inside/analysis/verify_rules.h"
#include "plait/ir/primitive.h"

namespace plait::ir {
namespace {

// Checks that each record in a type is declared and has the right number of arguments.
template <class Place, class PlaceFindings>
void check_record_types(const Subject& subject, const Place& place, const Type& type,
                        PlaceFindings& findings) {
  for_each_type(type, [&](const Type& inner) {
    if (!inner.is_record()) return;
    const RecordType* record = subject.declarations.find_record(inner.record_name());
    if (!record) {
      findings.add(place, "unknown record @{}", inner.record_name());
    } else if (record->parameters.size() != inner.record_arguments().size()) {
      findings.add(place, "@{} takes {} sizes, but {} has {}", record->name,
                   record->parameters.size(), inner.text(), inner.record_arguments().size());
    }
  });
}

// Violations of records are violations of the program.
class RecordFindings {
 public:
  explicit RecordFindings(Findings& findings) : findings_(findings) {}
  template <class... Arguments>
  void add(const RecordType& record, fmt::format_string<Arguments...> format,
           Arguments&&... arguments) {
    findings_.add("record @{}: {}", record.name,
                  fmt::format(format, std::forward<Arguments>(arguments)...));
  }

 private:
  Findings& findings_;
};

void check_record_sizes(const RecordType& record, Findings& findings) {
  std::unordered_set<Dim> known;
  for (const std::vector<Dim>* sizes : {&record.parameters, &record.held}) {
    for (Dim size : *sizes) {
      if (!size.is_symbol() || !known.insert(size).second)
        findings.add("record @{}: {} is not a unique name of a size", record.name, size.text());
    }
  }
  for (const Type& field : record.fields) {
    field.for_each_dim([&](Dim dim) {
      dim.for_each_symbol([&](Dim symbol) {
        if (!known.contains(symbol))
          findings.add("record @{}: size {} of {} is neither an argument nor held", record.name,
                       symbol.text(), field.text());
      });
    });
  }
}

// The records that each record contains directly, without a `?`.
NumberLists direct_parts(std::span<const RecordType> records) {
  std::unordered_map<std::string_view, uint32_t> places;
  for (uint32_t i = 0; i < records.size(); ++i) places.emplace(records[i].name, i);
  NumberLists parts;
  std::vector<const Type*> waiting;
  for (const RecordType& record : records) {
    for (const Type& field : record.fields) waiting.push_back(&field);
    while (!waiting.empty()) {
      const Type& type = *waiting.back();
      waiting.pop_back();
      if (type.is_tuple())
        for (const Type& element : type.elements()) waiting.push_back(&element);
      if (!type.is_record()) continue;
      auto place = places.find(type.record_name());
      if (place != places.end()) parts.append(place->second);
    }
    parts.end_list();
  }
  return parts;
}

void check_record_recursion(std::span<const RecordType> records, Findings& findings) {
  NumberLists parts = direct_parts(records);
  NumberLists components = strongly_connected_components(parts);
  for (size_t i = 0; i < components.size(); ++i) {
    uint32_t record = components[i][0];
    std::span<const uint32_t> own = parts[record];
    if (components[i].size() > 1 || std::find(own.begin(), own.end(), record) != own.end())
      findings.add("record @{} contains itself without `?`: no value of it is finite",
                   records[record].name);
  }
}

// Runs the type rule of an instruction as its builder did, with the names of its sizes.
class TypeRule {
 public:
  TypeRule(const Subject& subject, Findings& findings) : subject_(subject), findings_(findings) {}

  void check(const Instruction& instruction) {
    operand_types_.clear();
    for (ValueId operand : instruction.operands())
      operand_types_.push_back(instruction.function().type_of(operand));
    size_t named = 0;
    Inference inference{.primitive = instruction.primitive(),
                        .operands = operand_types_,
                        .attributes = instruction.attributes(),
                        .callees = instruction.callees(),
                        .size_arguments = instruction.size_arguments(),
                        .stated = instruction.result_types(),
                        .declarations = subject_.declarations,
                        .axes = instruction.function().signature().axes,
                        .name_size =
                            [&](std::string_view hint) {
                              std::span<const Dim> names = instruction.size_results();
                              return named < names.size() ? names[named++] : Dim::symbol(hint);
                            },
                        .location = instruction.location(),
                        .results = {},
                        .size_results = {}};
    try {
      inference.run();
    } catch (const Error& error) {
      findings_.add(instruction, "{}", error.message());
      return;
    }
    compare(instruction, inference);
  }

 private:
  void compare(const Instruction& instruction, const Inference& inference) {
    std::span<const Type> types = instruction.result_types();
    if (inference.results.size() != types.size())
      return findings_.add(instruction, "returns {} values, but has {}", inference.results.size(),
                           types.size());
    for (size_t i = 0; i < types.size(); ++i)
      if (!fits(types[i], inference.results[i]))
        findings_.add(instruction, "result {} is {}, expected {}", i, types[i].text(),
                      inference.results[i].text());
    if (inference.size_results.size() != instruction.size_results().size())
      findings_.add(instruction, "defines {} sizes, but names {}", inference.size_results.size(),
                    instruction.size_results().size());
  }

  const Subject& subject_;
  Findings& findings_;
  std::vector<Type> operand_types_;
};

}  // namespace

void check_records(const Subject& subject, Findings& findings) {
  RecordFindings of_record(findings);
  for (const RecordType& record : subject.records) {
    check_record_sizes(record, findings);
    for (const Type& field : record.fields) check_record_types(subject, record, field, of_record);
  }
  check_record_recursion(subject.records, findings);
}

void check_record_uses(const Subject& subject, const Function& function, Findings& findings) {
  for (const Type& type : function.signature().parameters)
    check_record_types(subject, function, type, findings);
  for (const Type& type : function.signature().results)
    check_record_types(subject, function, type, findings);
  for (Instruction instruction : function.instructions())
    for (const Type& type : instruction.result_types())
      check_record_types(subject, instruction, type, findings);
}

void check_types(const Subject& subject, const Function& function, Findings& findings) {
  TypeRule rule(subject, findings);
  for (Instruction instruction : function.instructions()) rule.check(instruction);
}

void check_returns(const Subject&, const Function& function, Findings& findings) {
  const Signature& signature = function.signature();
  if (function.results().size() != signature.results.size())
    return findings.add(function, "returns {} values, but declares {}", function.results().size(),
                        signature.results.size());
  if (function.result_sizes().size() != signature.result_sizes.size())
    return findings.add(function, "returns {} sizes, but declares {}",
                        function.result_sizes().size(), signature.result_sizes.size());
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < signature.result_sizes.size(); ++i)
    sizes.set(signature.result_sizes[i], function.result_sizes()[i]);
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const Type& given = function.type_of(function.results()[i]);
    Type wanted = signature.results[i].substitute(sizes);
    if (!fits(given, wanted))
      findings.add(function, "result {} is {}, but the signature declares {}", i, given.text(),
                   wanted.text());
  }
}

}  // namespace plait::ir
