#include "commands.h"

#include <memory>
#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "plait/io/npz.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/analysis/identity.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/primitive.h"
#include "plait/ir/rewriting/pattern.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"
#include "plait/ir/text/graph.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/table.h"

#include "compile.h"
#include "files.h"
#include "run.h"

using namespace plait::ir;

namespace {

// Options of the command line; each subcommand reads its own.
struct Options {
  std::string input, output;
  bool no_locations = false, prune = false, instructions = false;
  std::string form, op;
  std::vector<std::string> rules;
  RunOptions run;
  std::string passes, after;
  ComparisonOptions comparison;
};

class Commands {
 public:
  Commands(CLI::App& app, std::function<void()>& chosen)
      : app_(app), chosen_(chosen), options_(std::make_shared<Options>()) {}

  void add_all() {
    add_form_commands();
    add_transforming_commands();
    add_telling_commands();
    add_run();
    add_compiler_commands();
  }

 private:
  using Action = void (*)(const Options& options);

  CLI::App& add(std::string name, std::string description, const std::string& example,
                Action action) {
    CLI::App& command = *app_.add_subcommand(std::move(name), std::move(description));
    command.footer("Example: " + example);
    command.callback([this_chosen = &chosen_, options = options_, action] {
      *this_chosen = [options, action] { action(*options); };
    });
    return command;
  }
  CLI::App& add_reading(std::string name, std::string description, const std::string& example,
                        Action action) {
    CLI::App& command = add(std::move(name), std::move(description), example, action);
    command.add_option("FILE", options_->input, "A program, as text or bytes; - is standard input")
        ->required();
    command.add_option("-o,--output", options_->output,
                       "Where to write; standard output if not given");
    return command;
  }

  void add_form_commands();
  void add_transforming_commands();
  void add_telling_commands();
  void add_run();
  void add_compiler_commands();
  void add_arguments(CLI::App& command);
  CLI::Option* add_passes(CLI::App& command);

  CLI::App& app_;
  std::function<void()>& chosen_;
  std::shared_ptr<Options> options_;
};

void print_program(const Options& options) {
  write_all(options.output,
            print(read_program(options.input), {.locations = !options.no_locations}));
}

void verify_program(const Options& options) {
  Program program = read_program(options.input);
  size_t instructions = 0;
  for (const auto& function : program.functions()) instructions += function->size();
  write_all(options.output,
            fmt::format("valid: all {} rules hold for {} functions of {} instructions\n",
                        verifier_rules().size(), program.functions().size(), instructions));
}

void convert(const Options& options) {
  Program program = read_program(options.input);
  write_all(options.output, options.form == "bytes" ? program.bytes() : program.text());
}

void Commands::add_form_commands() {
  add_reading("print", "Prints a program in the canonical text form.",
              "plait-ir print model.plait --no-locations", print_program)
      .add_flag("--no-locations", options_->no_locations, "Leave out the source locations");
  add_reading("verify", "Checks every rule that valid programs follow.",
              "plait-ir verify model.plait", verify_program);
  add_reading("convert", "Writes a program in the other form.",
              "plait-ir convert model.plait --to bytes -o model.plir", convert)
      .add_option("--to", options_->form, "text or bytes")
      ->required()
      ->check(CLI::IsMember({"text", "bytes"}));
}

void rewrite_program(const Options& options) {
  std::vector<RewriteRule> rules;
  for (const std::string& rule : options.rules) rules.push_back(parse_rule(rule));
  Program program = Rewriter(std::move(rules)).rewrite(read_program(options.input));
  if (options.prune) program = prune(program);
  verify(program, "rewrite");
  write_all(options.output, program.text());
}

void prune_program(const Options& options) {
  Program program = prune(read_program(options.input));
  verify(program, "prune");
  write_all(options.output, program.text());
}

void Commands::add_transforming_commands() {
  CLI::App& rewriting =
      add_reading("rewrite", "Applies rewriting rules until none matches.",
                  "plait-ir rewrite model.plait --rule 'add(?x, negative(?y)) => subtract(?x, ?y)'",
                  rewrite_program);
  rewriting
      .add_option("--rule", options_->rules, "A rule; may be given several times, tried in order")
      ->required()
      ->allow_extra_args(false);
  rewriting.add_flag("--prune", options_->prune,
                     "Remove unused instructions and functions afterwards");
  add_reading("prune", "Removes unused instructions and functions.", "plait-ir prune model.plait",
              prune_program);
}

void draw_dot(const Options& options) {
  write_all(options.output, dot(read_program(options.input)));
}

void draw_svg(const Options& options) {
  write_all(options.output, svg_of(dot(read_program(options.input))));
}

void tell_identities(const Options& options) {
  Program program = read_program(options.input);
  std::vector<Identity> found = identities(program);
  std::string out;
  for (size_t i = 0; i < found.size(); ++i)
    out += fmt::format("{} @{}\n", found[i].text(), program.function(i).name());
  write_all(options.output, out);
}

std::string text_of(const Effects& effects) {
  std::string out;
  auto say = [&](std::string_view what) { out.append(out.empty() ? "" : ", ").append(what); };
  if (effects.observable) say("observable");
  if (effects.may_fail) say("may fail");
  if (!effects.collective.empty()) say("collective along " + effects.collective.text());
  if (!effects.guarded.empty()) say("guarded along " + effects.guarded.text());
  return out.empty() ? "pure" : out;
}

void tell_effects(const Options& options) {
  EffectAnalysis effects(read_program(options.input));
  std::string out;
  for (size_t i = 0; i < effects.program().functions().size(); ++i) {
    const Function& function = effects.program().function(i);
    out += fmt::format("@{}: {}\n", function.name(), text_of(effects.of(i)));
    if (!options.instructions) continue;
    for (Instruction instruction : function.instructions())
      out += fmt::format("  {}: {}\n", print(instruction), text_of(effects.of(i, instruction)));
  }
  write_all(options.output, out);
}

void list_ops(const Options& options) {
  if (!options.op.empty()) return write_all("", plait::op_of(primitive(options.op)).text());
  std::string out;
  const auto line = [&](std::string_view name, std::string_view operands, std::string_view dtypes,
                        std::string_view rules, std::string_view oracle) {
    out += fmt::format("{:26}{:10}{:38}{:36}{}\n", name, operands, dtypes, rules, oracle);
  };
  line("name", "operands", "dtypes", "rules", "oracle");
  for (const plait::Op& op : plait::ops()) {
    line(op.name, plait::text_of(op.operands), op.takes.text(),
         fmt::format("{}", fmt::join(op.rules, ", ")), op.oracle);
  }
  out += "\nand of the IR itself:\n";
  for (const Primitive* each : primitives()) {
    if (each->structure != Structure::machine)
      out += fmt::format("{:26}{}\n", each->name, each->summary);
  }
  write_all("", out);
}

void list_rules(const Options&) {
  std::string out;
  for (const RuleStatement& rule : verifier_rules())
    out += fmt::format("{:16}{}\n", rule.name, rule.statement);
  write_all("", out);
}

void Commands::add_telling_commands() {
  add_reading("dot", "Draws a program as a graph, in Graphviz's language.",
              "plait-ir dot model.plait", draw_dot);
  add_reading("svg", "Draws a program as a picture; needs Graphviz.",
              "plait-ir svg model.plait -o model.svg", draw_svg);
  add_reading("identity",
              "Prints the identity of each function: a hash of what it computes, without names.",
              "plait-ir identity model.plait", tell_identities);
  add_reading("effects",
              "Prints the effects of each function: what it does besides computing results.",
              "plait-ir effects model.plait --instructions", tell_effects)
      .add_flag("--instructions", options_->instructions, "Also of each instruction");
  add("ops", "Lists the operations that programs consist of, or describes one.",
      "plait-ir ops softmax", list_ops)
      .add_option("NAME", options_->op, "The operation to describe; without it, a line for each");
  add("rules", "Lists the rules that valid programs follow.", "plait-ir rules", list_rules);
}

void run_program(const Options& options) {
  leave_out(options.passes);
  const Program program = read_program(options.input);
  if (options.output.ends_with(".npz")) {
    plait::save_npz(options.output, run_to_arrays(program, options.run));
  } else {
    write_all(options.output, run(program, options.run));
  }
}

void Commands::add_run() {
  CLI::App& command = add_reading(
      "run",
      "Evaluates a function, one instruction after another, or compiles and runs it. The results "
      "are written to a FILE.npz as arrays named 0, 1 and so on, and 1.0, 1.1 where one has "
      "fields.",
      "plait-ir run model.plait -i -3 -i '[[1, 2.5], [0, 1]]' -i @weights.npy", run_program);
  add_arguments(command);
  CLI::Option* compiled = command.add_flag("--compiled", options_->run.compiled, "Compile it");
  add_passes(command)->needs(compiled);
}

void Commands::add_arguments(CLI::App& command) {
  command
      .add_option("-i,--input", options_->run.arguments,
                  "An argument, once for each parameter: a number, true or false, lists of them, a "
                  "literal as in programs such as f32[2](1, 2), @FILE.npy, or absent")
      ->allow_extra_args(false);
  command.add_option("--function", options_->run.function,
                     "The function to run; the first if not given");
  command
      .add_option("--size", options_->run.sizes,
                  "A size that does not follow from the arguments, as name=number; may be given "
                  "several times")
      ->allow_extra_args(false);
}

CLI::Option* Commands::add_passes(CLI::App& command) {
  return command
      .add_option("--passes", options_->passes,
                  "Passes of the compiler to leave out, as -NAME,-NAME (`plait-ir passes` lists "
                  "them); PLAIT_PASSES if not given")
      ->check(problem_with_passes);
}

void list_passes(const Options&) { write_all("", passes_text()); }

void compile_program(const Options& options) {
  leave_out(options.passes);
  const std::string text = compiled_text(read_program(options.input), options.after);
  if (text.empty()) {
    throw CLI::ValidationError("--after", options.after + " is among the passes that are left out");
  }
  write_all(options.output, text);
}

void compare_program(const Options& options) {
  leave_out(options.passes);
  write_all(options.output, compare(read_program(options.input), options.run, options.comparison));
}

void Commands::add_compiler_commands() {
  add("passes", "Lists the passes of the compiler in their order.", "plait-ir passes", list_passes);
  CLI::App& compiling = add_reading(
      "compile", "Prints the plan to which a program is compiled, or the program after a pass.",
      "plait-ir compile model.plait --after fuse", compile_program);
  compiling
      .add_option("--after", options_->after,
                  "A pass, to print the program after it; `all`: after each, and the plan")
      ->check(CLI::IsMember(names_to_print_after()));
  add_passes(compiling);
  CLI::App& comparing = add_reading(
      "compare",
      "Compares the compiled function with the evaluator, pass by pass and step by step, in "
      "guarded memory. The exit status is 1 if something differs.",
      "plait-ir compare model.plait -i '[[1, 2.5], [0, 1]]' --tolerance 1e-6", compare_program);
  add_arguments(comparing);
  comparing.add_option("--tolerance", options_->comparison.tolerance,
                       "The largest difference of results, relative to their greatest number; 1e-5 "
                       "if not given, 0 for equal bits");
  comparing
      .add_option("--shift", options_->comparison.shift,
                  "How many bytes before the usual place values begin; 0 if not given")
      ->check(CLI::Range(0, 1 << 20));
  add_passes(comparing);
}

}  // namespace

void add_commands(CLI::App& app, std::function<void()>& chosen) { Commands(app, chosen).add_all(); }
