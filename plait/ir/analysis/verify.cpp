#include "plait/ir/analysis/verify.h"

#include <algorithm>
#include <iterator>

#include "plait/core/error.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/inside/analysis/verify_rules.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/text/printer.h"

namespace plait {

namespace setting {
#ifdef NDEBUG
constexpr std::string_view kVerifyByDefault = "off";
#else
constexpr std::string_view kVerifyByDefault = "on";
#endif
constinit Setting<Verify> kVerify(
    {.name = "verify",
     .standard = kVerifyByDefault,
     .description = "whether programs are verified after each transform and pass",
     .choices = {"off", "on"}});
}  // namespace setting

namespace {
const ListedSettings verify_settings{&setting::kVerify};
}

}  // namespace plait

namespace plait::ir {
namespace {

// Each stage may rely on the earlier ones.
enum class Stage : uint8_t { values, form, links, meaning, flow };
constexpr Stage kStages[] = {Stage::values, Stage::form, Stage::links, Stage::meaning, Stage::flow};

struct Rule {
  Stage stage;
  std::string_view name;
  std::string_view statement;
  ProgramCheck check_program = nullptr;
  FunctionCheck check_function = nullptr;
};

constexpr Rule kRules[] = {
    {.stage = Stage::values,
     .name = "names",
     .statement = "Each function and each record has a unique name.",
     .check_program = check_names},
    {.stage = Stage::values,
     .name = "values",
     .statement = "The values of a function are its parameters, then each instruction's results.",
     .check_function = check_values},
    {.stage = Stage::values,
     .name = "operands",
     .statement = "An operand is a value that was defined before; so is what a function returns.",
     .check_function = check_operands},
    {.stage = Stage::form,
     .name = "counts",
     .statement = "An instruction has as many operands, callees and sizes as its primitive takes.",
     .check_function = check_counts},
    {.stage = Stage::form,
     .name = "attributes",
     .statement = "The attributes of an instruction are those that its primitive declares.",
     .check_function = check_attributes},
    {.stage = Stage::links,
     .name = "records",
     .statement =
         "A record's sizes are its arguments and what it holds; it contains itself only as `?`.",
     .check_program = check_records},
    {.stage = Stage::links,
     .name = "record uses",
     .statement =
         "A record that is named is declared, and given as many sizes as it has arguments.",
     .check_function = check_record_uses},
    {.stage = Stage::links,
     .name = "callees",
     .statement = "A callee exists and is given as many sizes as it takes.",
     .check_function = check_callees},
    {.stage = Stage::meaning,
     .name = "size names",
     .statement = "Each size that a function takes, defines or returns has a unique name.",
     .check_function = check_size_names},
    {.stage = Stage::meaning,
     .name = "scope",
     .statement = "A size is used only where it is known.",
     .check_function = check_scope},
    {.stage = Stage::meaning,
     .name = "facts",
     .statement = "Facts that are checked on entry are about the sizes that the function takes.",
     .check_function = check_facts},
    {.stage = Stage::meaning,
     .name = "types",
     .statement = "The results of an instruction have the types that its type rule infers.",
     .check_function = check_types},
    {.stage = Stage::meaning,
     .name = "returns",
     .statement = "A function returns the sizes and types of its signature.",
     .check_function = check_returns},
    {.stage = Stage::meaning,
     .name = "axes",
     .statement =
         "An axis that is used is one of the function's, and each of those has a unique name.",
     .check_function = check_axes},
    {.stage = Stage::meaning,
     .name = "callee axes",
     .statement = "A callee's axes are axes of its caller, with the same sizes.",
     .check_function = check_callee_axes},
    {.stage = Stage::flow,
     .name = "collectives",
     .statement =
         "A condition that decides whether a collective runs does not vary along its axes.",
     .check_program = check_collectives},
};

// Runs the rules of a stage. Functions with violations in an earlier stage are skipped; after any
// violation, rules about the whole program are skipped too.
class Verification {
 public:
  explicit Verification(const Subject& subject)
      : subject_(subject), broken_(subject.functions.size(), false) {}

  void run(Stage stage) {
    std::vector<bool> broken_before = broken_;
    bool anything_broken = findings_.count() > 0;
    for (const Rule& rule : kRules) {
      if (rule.stage != stage) continue;
      findings_.set_rule(rule.name);
      if (rule.check_program && !anything_broken) rule.check_program(subject_, findings_);
      if (rule.check_function) check_functions(rule, broken_before);
    }
  }
  std::vector<Violation> take() { return findings_.take(); }

 private:
  void check_functions(const Rule& rule, const std::vector<bool>& left_out) {
    for (size_t i = 0; i < subject_.functions.size(); ++i) {
      if (left_out[i]) continue;
      size_t before = findings_.count();
      rule.check_function(subject_, *subject_.functions[i], findings_);
      if (findings_.count() > before) broken_[i] = true;
    }
  }

  const Subject& subject_;
  std::vector<bool> broken_;
  Findings findings_;
};

}  // namespace

std::string Violation::text() const {
  std::string out = place.empty() ? "" : place + ": ";
  out += fmt::format("rule `{}`: ", rule);
  if (!function.empty()) out += fmt::format("@{}: ", function);
  if (!instruction.empty()) out += fmt::format("{}: ", instruction);
  return out + message;
}

void Findings::add_to_program(std::string message) {
  found_.push_back({.rule = rule_, .message = std::move(message)});
}

void Findings::add_to_function(const Function& function, std::string message) {
  found_.push_back({.rule = rule_,
                    .function = function.name(),
                    .message = std::move(message),
                    .location = function.location()});
}

void Findings::add_to_instruction(const Instruction& instruction, std::string message) {
  found_.push_back({.rule = rule_,
                    .function = instruction.function().name(),
                    .instruction = print(instruction),
                    .message = std::move(message),
                    .location = instruction.location(),
                    .index = instruction.index()});
}

std::vector<RuleStatement> verifier_rules() {
  std::vector<RuleStatement> statements;
  for (const Rule& rule : kRules) statements.push_back({rule.name, rule.statement});
  return statements;
}

std::vector<Violation> violations(std::span<const std::shared_ptr<const Function>> functions,
                                  std::span<const RecordType> records) {
  if (std::ranges::find(functions, nullptr) != functions.end())
    throw ValueError("one of the {} functions is null", functions.size());
  Subject subject{functions, records, declarations_of(functions, records)};
  Verification verification(subject);
  for (Stage stage : kStages) verification.run(stage);
  return verification.take();
}

std::vector<Violation> violations(const Program& program) {
  return violations(program.functions(), program.records());
}

namespace {

// The first collective among the instructions that an instruction runs.
std::optional<Instruction> first_collective(const Program& program, size_t function,
                                            const Instruction& instruction) {
  if (instruction.primitive().communicates != nullptr) return instruction;
  for (const uint32_t callee : program.callees_of(function, instruction)) {
    for (const uint32_t i : CallGraph(program).reachable_from(callee)) {
      for (const Instruction inner : program.function(i).instructions()) {
        if (inner.primitive().communicates != nullptr) return inner;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void refuse_divergent_collectives(const Program& program) {
  Findings findings;
  check_collectives({program.functions(), program.records(), {}}, findings);
  const std::vector<Violation> found = findings.take();
  if (found.empty()) return;
  const size_t function = program.index_of(found[0].function);
  const Instruction governed = program.function(function).instruction(found[0].index.value());
  const Instruction collective = first_collective(program, function, governed).value_or(governed);
  throw TypeError("{}: {}", collective.primitive().name, found[0].message)
      .at(collective.location())
      .hint("make the condition the same everywhere, for example by a reduction along the axis");
}

void refuse(std::span<const Violation> found, std::string_view pass) {
  constexpr size_t kMostShown = 10;
  std::string text = pass.empty() ? "" : fmt::format("after {}: ", pass);
  for (size_t i = 0; i < std::min(found.size(), kMostShown); ++i)
    text += (i ? "\n  " : "") + found[i].text();
  if (found.size() > kMostShown) text += fmt::format("\n  and {} more", found.size() - kMostShown);
  throw CompileError("{}", text).at(found[0].location);
}

void verify(const Program& program, std::string_view pass) {
  const std::vector<Violation> found = violations(program);
  if (!found.empty()) refuse(found, pass);
}

void verify_pass(const Program& program, std::string_view pass) {
  if (setting::kVerify.get() == Verify::on) verify(program, pass);
}

}  // namespace plait::ir
