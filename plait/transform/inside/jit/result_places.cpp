#include "plait/transform/inside/jit/result_places.h"

#include <algorithm>

#include "plait/ir/primitive.h"

namespace plait {
namespace {

// A bit for each parameter, and one for tensors that the program places itself; in words.
using Parameters = std::vector<uint64_t>;
constexpr uint32_t kBits = 64;

bool has(const Parameters& parameters, uint32_t i) {
  return (parameters[i / kBits] >> (i % kBits) & 1) != 0;
}

std::vector<Parameters> parameters_of_values(const ir::Function& function) {
  const size_t words = function.parameter_count() / kBits + 1;
  std::vector<Parameters> of(function.value_count(), Parameters(words));
  const auto add = [](Parameters& parameters, uint32_t i) {
    parameters[i / kBits] |= uint64_t{1} << (i % kBits);
  };
  for (ir::ValueId i = 0; i < function.parameter_count(); ++i) add(of[i], i);
  for (const ir::Instruction instruction : function.instructions()) {
    Parameters all(words);
    const auto place_of = instruction.primitive().result_place;
    const bool is_placed = place_of != nullptr && !place_of(instruction.attributes()).is_unplaced;
    if (is_placed) add(all, function.parameter_count());
    for (const ir::ValueId operand : instruction.operands()) {
      for (size_t word = 0; word < words && place_of == nullptr; ++word)
        all[word] |= of[operand][word];
    }
    for (size_t i = 0; i < instruction.result_count(); ++i) of[instruction.result(i)] = all;
  }
  return of;
}

bool is_unplaced(const Tensor& argument) {
  return !argument || argument.is_unplaced() ||
         (argument.is_array() && argument.dtype() == DType::key);
}

}  // namespace

ResultPlaces::ResultPlaces(const ir::Program& program) {
  const std::vector<Parameters> of = parameters_of_values(program.entry());
  for (const ir::ValueId result : program.entry().results()) {
    std::vector<uint32_t> set;
    for (uint32_t i = 0; i <= program.entry().parameter_count(); ++i) {
      if (has(of[result], i)) set.push_back(i);
    }
    const auto place = std::ranges::find(sets_, set);
    set_of_.push_back(static_cast<size_t>(place - sets_.begin()));
    if (place == sets_.end()) sets_.push_back(std::move(set));
  }
}

std::vector<bool> ResultPlaces::find(const JitArguments& arguments) const {
  std::vector<bool> of_sets;
  for (const std::vector<uint32_t>& set : sets_) {
    of_sets.push_back(std::ranges::all_of(
        set, [&](uint32_t i) { return i < arguments.size() && is_unplaced(arguments[i]); }));
  }
  std::vector<bool> are_unplaced;
  for (const size_t set : set_of_) are_unplaced.push_back(of_sets[set]);
  return are_unplaced;
}

void ResultPlaces::set(std::span<Tensor> results, const std::vector<bool>& are_unplaced) {
  for (size_t i = 0; i < results.size(); ++i) {
    Tensor& result = results[i];
    if (!result.is_array() || result.is_unplaced() == are_unplaced[i]) continue;
    result = Tensor(std::move(result).take_array().unplaced(are_unplaced[i]));
  }
}

}  // namespace plait
