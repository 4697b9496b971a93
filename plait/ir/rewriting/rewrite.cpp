#include "plait/ir/rewriting/rewrite.h"

#include <algorithm>
#include <unordered_map>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/inference.h"
#include "plait/ir/primitive.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {

Replacement::Value Replacement::add(Step step) {
  steps_.push_back(std::move(step));
  return Value(static_cast<uint32_t>(steps_.size() - 1), 0);
}

Replacement::Value Replacement::add(const Primitive& primitive, std::vector<Value> operands,
                                    Attributes attributes) {
  return add({.primitive = &primitive,
              .operands = std::move(operands),
              .attributes = std::move(attributes)});
}

ValueId Replacement::resolve(const Value& value, std::span<const Given> given,
                             const Function& function) {
  if (!value.own_) {
    if (value.index_ < function.value_count()) return value.index_;
    throw ValueError("uses value {} of {}", value.index_, function.value_count());
  }
  if (value.index_ >= given.size() || value.result_ >= given[value.index_].values.size())
    throw ValueError("uses result {} of its instruction {}, which does not exist", value.result_,
                     value.index_);
  return given[value.index_].values[value.result_];
}

std::vector<Type> Candidate::result_types() const {
  if (!instruction.stated_types.empty()) return instruction.stated_types;
  std::vector<Type> operands;
  for (ValueId operand : instruction.operands) operands.push_back(function.type_of(operand));
  Inference inference{.primitive = *instruction.primitive,
                      .operands = operands,
                      .attributes = instruction.attributes,
                      .callees = instruction.callees,
                      .size_arguments = instruction.size_arguments,
                      .stated = {},
                      .declarations = declarations,
                      .axes = function.signature().axes,
                      .name_size = [](std::string_view hint) { return Dim::symbol(hint); },
                      .location = instruction.location,
                      .results = {},
                      .size_results = {}};
  inference.run();
  return std::move(inference.results);
}

// The rules, indexed by the primitives at which they may fire.
struct Rewriter::State {
  State(std::vector<RewriteRule> rules_given, RewriteOptions options_given)
      : rules(std::move(rules_given)), options(options_given) {
    for (const RewriteRule& rule : rules) {
      if (!rule.root) continue;
      std::vector<const RewriteRule*>& here = by_root[rule.root];
      if (!here.empty()) continue;
      for (const RewriteRule& other : rules)
        if (!other.root || other.root == rule.root) here.push_back(&other);
    }
    for (const RewriteRule& rule : rules)
      if (!rule.root) anywhere.push_back(&rule);
  }

  const std::vector<const RewriteRule*>& rules_at(const Primitive* primitive) const {
    auto place = by_root.find(primitive);
    return place == by_root.end() ? anywhere : place->second;
  }

  std::vector<RewriteRule> rules;
  RewriteOptions options;
  std::unordered_map<const Primitive*, std::vector<const RewriteRule*>> by_root;
  std::vector<const RewriteRule*> anywhere;
  RewriteStatistics statistics;
};

// A replacement that is partly written.
class Rewriter::Expansion {
 public:
  Expansion(const RewriteRule& rule, Replacement replacement, Draft& replaced)
      : rule_(&rule),
        replacement_(std::move(replacement)),
        wanted_(std::move(replaced.stated_types)) {
    for (const std::string& name : replaced.size_names) new_sizes_.push_back(Dim::symbol(name));
  }

  const RewriteRule& rule() const { return *rule_; }
  bool complete() const { return given_.size() == replacement_.steps().size(); }
  void advance(Given given) { given_.push_back(std::move(given)); }

  // The next instruction to be written.
  Draft next(const Function& function, Location location) const {
    const Replacement::Step& step = replacement_.steps()[given_.size()];
    Draft draft{.primitive = step.primitive,
                .attributes = step.attributes ? step.attributes
                                              : Attributes::defaults(step.primitive->attributes),
                .callees = step.callees,
                .size_arguments = step.size_arguments,
                .stated_types = step.stated_types,
                .location = location};
    for (const Replacement::Value& operand : step.operands)
      draft.operands.push_back(Replacement::resolve(operand, given_, function));
    return draft;
  }

  // The values and sizes that replace the results.
  Given results(const Function& function) const {
    Given results;
    for (const Replacement::Value& value : replacement_.results())
      results.values.push_back(Replacement::resolve(value, given_, function));
    if (replacement_.sizes()) {
      results.sizes = *replacement_.sizes();
    } else if (!given_.empty()) {
      results.sizes = given_.back().sizes;
    }
    check(results, function);
    return results;
  }

 private:
  void check(const Given& results, const Function& function) const {
    if (results.sizes.size() < new_sizes_.size())
      throw TypeError("returns {} sizes instead of {}", results.sizes.size(), new_sizes_.size());
    SymbolMap<Dim> sizes;
    for (size_t i = 0; i < new_sizes_.size(); ++i) sizes.set(new_sizes_[i], results.sizes[i]);
    if (wanted_.empty()) return;
    if (results.values.size() != wanted_.size())
      throw TypeError("returns {} values instead of {}", results.values.size(), wanted_.size());
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const Type& given = function.type_of(results.values[i]);
      Type wanted = wanted_[i].substitute(sizes);
      if (!fits(given, wanted))
        throw TypeError("returns {} instead of {}", given.text(), wanted.text());
    }
  }

  const RewriteRule* rule_;
  Replacement replacement_;
  std::vector<Given> given_;    // results of the instructions written so far
  std::vector<Type> wanted_;    // types of the replaced results, if they are known
  std::vector<Dim> new_sizes_;  // names of the data-dependent sizes
};

// Rewrites one function.
class Rewriter::Pass {
 public:
  Pass(State& state, const Function& from, const Declarations& declarations)
      : state_(state),
        from_(from),
        declarations_(declarations),
        builder_(from.name(), declarations),
        copier_(from, builder_) {
    copier_.begin();
  }

  std::shared_ptr<const Function> run() {
    for (Instruction instruction : from_.instructions()) {
      source_ = instruction.index();
      fired_.clear();
      firings_ = 0;
      copier_.set_results(instruction, write(copier_.draft(instruction)));
    }
    return copier_.finish();
  }

 private:
  // Attributes errors of this work to the rule.
  template <class Work>
  auto blame(const RewriteRule& rule, Work work) {
    try {
      return work();
    } catch (const Error& error) {
      throw CompileError("@{}: rule `{}`, replacing {}: {}", from_.name(), rule.name,
                         print(from_.instruction(source_)), error.message())
          .at(location());
    }
  }

  // Writes an instruction, or its replacement. The instructions of the replacement are offered to
  // the rules in order; unfinished expansions are kept on a stack.
  Given write(Draft draft) {
    const Function& function = builder_.so_far();
    for (;;) {
      if (!expand(draft)) {
        if (expansions_.empty()) return copier_.add(draft);
        top().advance(blame(top().rule(), [&] { return copier_.add(draft); }));
      }
      while (top().complete()) {
        Given given = blame(top().rule(), [&] { return top().results(function); });
        expansions_.pop_back();
        if (expansions_.empty()) return given;
        top().advance(std::move(given));
      }
      draft = blame(top().rule(), [&] { return top().next(function, location()); });
    }
  }

  // True if a rule fires; its replacement is written next.
  bool expand(Draft& draft) {
    ++state_.statistics.candidates;
    Candidate candidate{draft, builder_.so_far(), declarations_};
    for (const RewriteRule* rule : state_.rules_at(draft.primitive)) {
      auto replacement = blame(*rule, [&] { return rule->apply(candidate); });
      if (!replacement) continue;
      note_firing(rule);
      expansions_.emplace_back(*rule, std::move(*replacement), draft);
      return true;
    }
    return false;
  }

  void note_firing(const RewriteRule* rule) {
    ++state_.statistics.firings;
    if (std::ranges::find(fired_, rule) == fired_.end()) fired_.push_back(rule);
    if (++firings_ <= state_.options.most_firings) return;
    std::string names;
    for (const RewriteRule* each : fired_)
      names += (names.empty() ? "`" : ", `") + each->name + "`";
    throw CompileError(
        "@{}: rules were applied {} times from one instruction on, without an end: {}: {}",
        from_.name(), state_.options.most_firings, names, print(from_.instruction(source_)))
        .at(location())
        .hint("one of these rules must make its result simpler than what it replaces");
  }

  Expansion& top() { return expansions_.back(); }
  Location location() const { return from_.instruction(source_).location(); }

  State& state_;
  const Function& from_;
  const Declarations& declarations_;
  FunctionBuilder builder_;
  Copier copier_;
  size_t source_ = 0;  // index of the instruction that is being rewritten
  std::vector<Expansion> expansions_;
  std::vector<const RewriteRule*> fired_;  // for the current instruction
  uint64_t firings_ = 0;
};

Rewriter::Rewriter(std::vector<RewriteRule> rules, RewriteOptions options)
    : state_(std::make_unique<State>(std::move(rules), options)) {}
Rewriter::~Rewriter() = default;
Rewriter::Rewriter(Rewriter&&) noexcept = default;
Rewriter& Rewriter::operator=(Rewriter&&) noexcept = default;

std::shared_ptr<const Function> Rewriter::rewrite(const Function& function,
                                                  const Declarations& declarations) {
  return Pass(*state_, function, declarations).run();
}

Program Rewriter::rewrite(const Program& program) {
  Declarations declarations = declarations_of(program);
  std::vector<std::shared_ptr<const Function>> functions;
  for (const auto& function : program.functions()) {
    uint64_t before = state_->statistics.firings;
    std::shared_ptr<const Function> rewritten = rewrite(*function, declarations);
    const bool is_same = state_->statistics.firings == before;
    functions.push_back(is_same ? function : rewritten);
  }
  Program rewritten =
      Program::of(std::move(functions), {program.records().begin(), program.records().end()});
  verify_pass(rewritten, "rewrite");
  return rewritten;
}

const RewriteStatistics& Rewriter::statistics() const { return state_->statistics; }

}  // namespace plait::ir
