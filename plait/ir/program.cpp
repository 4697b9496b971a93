#include "plait/ir/program.h"

#include <unordered_map>

#include "plait/core/error.h"

namespace plait::ir {

struct Program::Data {
  std::vector<std::shared_ptr<const Function>> functions;
  std::vector<RecordType> records;
  std::unordered_map<std::string_view, uint32_t> function_index;
  std::unordered_map<std::string_view, uint32_t> record_index;
  // The callees of all instructions of a function in order, and the index of each instruction's
  // first one.
  struct Links {
    std::vector<uint32_t> targets;
    std::vector<uint32_t> first;  // empty if no instruction has callees
  };
  std::vector<Links> links;

  void index_names();
  void link(const Function& function);
};

void Program::Data::index_names() {
  for (uint32_t i = 0; i < functions.size(); ++i) {
    if (!function_index.emplace(functions[i]->name(), i).second) {
      throw CompileError("two functions are named @{}", functions[i]->name());
    }
  }
  for (uint32_t i = 0; i < records.size(); ++i) {
    if (!record_index.emplace(records[i].name, i).second) {
      throw CompileError("two records are named @{}", records[i].name);
    }
  }
}

void Program::Data::link(const Function& function) {
  Links links_here;
  for (Instruction instruction : function.instructions()) {
    if (instruction.callees().empty()) continue;
    if (links_here.first.empty()) links_here.first.resize(function.size());
    links_here.first[instruction.index()] = static_cast<uint32_t>(links_here.targets.size());
    for (const Callee& callee : instruction.callees()) {
      auto place = function_index.find(callee.name);
      if (place == function_index.end()) {
        throw CompileError("@{} uses @{}, which the program does not have", function.name(),
                           callee.name)
            .at(instruction.location());
      }
      links_here.targets.push_back(place->second);
    }
  }
  links.push_back(std::move(links_here));
}

Program::Program() : data_(std::make_shared<const Data>()) {}

Program Program::of(std::vector<std::shared_ptr<const Function>> functions,
                    std::vector<RecordType> records) {
  auto data = std::make_shared<Data>();
  data->functions = std::move(functions);
  data->records = std::move(records);
  data->index_names();
  data->links.reserve(data->functions.size());
  for (const auto& function : data->functions) data->link(*function);
  Program program;
  program.data_ = std::move(data);
  return program;
}

std::span<const std::shared_ptr<const Function>> Program::functions() const& {
  return data_->functions;
}

const Function& Program::entry() const {
  if (empty()) throw ValueError("the program has no functions");
  return *data_->functions[0];
}

const Function* Program::find(std::string_view name) const {
  auto place = data_->function_index.find(name);
  return place == data_->function_index.end() ? nullptr : data_->functions[place->second].get();
}

size_t Program::index_of(std::string_view name) const {
  auto place = data_->function_index.find(name);
  if (place == data_->function_index.end()) throw KeyError("the program has no function @{}", name);
  return place->second;
}

const Function& Program::function(std::string_view name) const {
  return *data_->functions[index_of(name)];
}

std::span<const RecordType> Program::records() const { return data_->records; }

const RecordType* Program::find_record(std::string_view name) const {
  auto place = data_->record_index.find(name);
  return place == data_->record_index.end() ? nullptr : &data_->records[place->second];
}

std::span<const uint32_t> Program::callees_of(size_t function,
                                              const Instruction& instruction) const {
  size_t count = instruction.callees().size();
  if (count == 0) return {};
  const Data::Links& links = data_->links[function];
  return std::span(links.targets).subspan(links.first[instruction.index()], count);
}

}  // namespace plait::ir
