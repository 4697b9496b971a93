#include "plait/ir/text/graph.h"

#include <iterator>

#include <fmt/format.h>

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/primitive.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {
namespace {

// Escaped for Graphviz, in double quotes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + '"';
}

class Drawing {
 public:
  explicit Drawing(const Program& program) : program_(program) {}

  std::string draw() {
    line("digraph program {{");
    line(
        "  compound=true; node [shape=box, fontname=\"monospace\"]; edge "
        "[fontname=\"monospace\"];");
    for (size_t i = 0; i < program_.functions().size(); ++i) draw_function(i);
    for (size_t i = 0; i < program_.functions().size(); ++i) draw_calls(i);
    line("}}");
    return std::move(out_);
  }

 private:
  template <class... Arguments>
  void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    out_ += '\n';
  }

  void draw_function(size_t f) {
    const Function& function = program_.function(f);
    line("  subgraph cluster_{} {{", f);
    line("    label={};", quoted("@" + function.name()));
    line("    f{}_begin [shape=point, style=invis];", f);  // target of edges to the function
    for (ValueId value = 0; value < function.parameter_count(); ++value)
      line("    {} [label={}, shape=ellipse];", source(f, value),
           quoted(value_name(function, value)));
    for (Instruction instruction : function.instructions()) draw_instruction(f, instruction);
    line("    f{}_return [label=\"return\", shape=ellipse];", f);
    for (ValueId value : function.results()) draw_use(f, value, fmt::format("f{}_return", f));
    line("  }}");
  }

  void draw_instruction(size_t f, const Instruction& instruction) {
    std::string node = fmt::format("f{}_{}", f, instruction.index());
    line("    {} [label={}];", node, quoted(instruction.primitive().name));
    for (ValueId operand : instruction.operands()) draw_use(f, operand, node);
  }

  void draw_use(size_t f, ValueId value, const std::string& user) {
    line("    {} -> {} [label={}];", source(f, value), user,
         quoted(program_.function(f).type_of(value).text()));
  }

  void draw_calls(size_t f) {
    for_each_callee(program_, f, [&](const Instruction& instruction, size_t, uint32_t callee) {
      line("  f{}_{} -> f{}_begin [lhead=cluster_{}, style=dashed];", f, instruction.index(),
           callee, callee);
    });
  }

  std::string source(size_t f, ValueId value) const {
    auto definition = program_.function(f).definition(value);
    return definition ? fmt::format("f{}_{}", f, definition->index())
                      : fmt::format("f{}_p{}", f, value);
  }

  const Program& program_;
  std::string out_;
};

}  // namespace

std::string dot(const Program& program) { return Drawing(program).draw(); }

}  // namespace plait::ir
