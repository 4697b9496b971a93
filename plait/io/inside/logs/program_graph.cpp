#include "plait/io/inside/logs/program_graph.h"

#include <unordered_set>
#include <vector>

#include "plait/io/inside/logs/event_fields.h"
#include "plait/io/inside/protobuf_fields.h"
#include "plait/ir/primitive.h"

namespace plait {
namespace {

namespace graph_field {
enum : uint32_t { node = 1, versions = 4 };
}
namespace node_field {
enum : uint32_t { name = 1, op = 2, input = 3, attribute = 5 };
}
namespace node_attribute_field {
enum : uint32_t { key = 1, value = 2 };
}
namespace attribute_value_field {
enum : uint32_t { list = 1, text = 2, shapes_of_list = 7 };
}
namespace versions_field {
enum : uint32_t { producer = 1 };
}
constexpr int64_t kProducer = 22;  // a version of TensorFlow's graphs with all that is used here
constexpr int64_t kUnknownSize = -1;

using ir::Function;
using ir::Instruction;
using ir::ValueId;

ProtobufWriter shape_message(const ir::Type& type) {
  ProtobufWriter shape;
  if (!type.is_array()) return shape.integer(shape_field::is_unknown, 1);
  for (const Dim dim : type.shape()) {
    const int64_t size = dim.is_number() ? dim.number() : kUnknownSize;
    shape.message(shape_field::dimension, ProtobufWriter().integer(dimension_field::size, size));
  }
  return shape;
}

class GraphNode {
 public:
  GraphNode(std::string_view name, std::string_view op) {
    node_.text(node_field::name, name).text(node_field::op, op);
  }

  void input(std::string_view name) { node_.text(node_field::input, name); }
  void attribute(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    attribute(key, ProtobufWriter().text(attribute_value_field::text, value));
  }
  void types(std::span<const ir::Type> types) {
    ProtobufWriter shapes;
    std::string text;
    for (const ir::Type& type : types) {
      shapes.message(attribute_value_field::shapes_of_list, shape_message(type));
      text += (text.empty() ? "" : ", ") + type.text();
    }
    attribute("_output_shapes", ProtobufWriter().message(attribute_value_field::list, shapes));
    attribute("type", text);
  }
  const ProtobufWriter& message() const { return node_; }

 private:
  void attribute(std::string_view key, const ProtobufWriter& value) {
    ProtobufWriter entry;
    entry.text(node_attribute_field::key, key).message(node_attribute_field::value, value);
    node_.message(node_field::attribute, entry);
  }

  ProtobufWriter node_;
};

// Adds the nodes of one function to a graph.
class FunctionNodes {
 public:
  FunctionNodes(const Function& function, std::string scope, ProtobufWriter& graph)
      : function_(function), scope_(std::move(scope)), graph_(graph) {}

  void add() {
    for (ValueId value = 0; value < function_.parameter_count(); ++value) {
      const std::string name = name_of_node(value, "parameter");
      GraphNode node(name, "Parameter");
      node.types({&function_.type_of(value), 1});
      add(node);
      outputs_.push_back(name);
    }
    for (const Instruction instruction : function_.instructions()) add(instruction);
    for (size_t i = 0; i < function_.results().size(); ++i) {
      const ValueId value = function_.results()[i];
      GraphNode node(unique(fmt::format("{}result_{}", scope_, i)), "Result");
      node.input(outputs_[value]);
      node.types({&function_.type_of(value), 1});
      add(node);
    }
  }

 private:
  void add(const Instruction& instruction) {
    const std::string_view op = instruction.primitive().name;
    const std::string name = instruction.result_count() == 0
                                 ? unique(fmt::format("{}{}", scope_, op))
                                 : name_of_node(instruction.result(), op);
    GraphNode node(name, op);
    for (const ValueId operand : instruction.operands()) node.input(outputs_[operand]);
    node.types(instruction.result_types());
    node.attribute("attributes", instruction.attributes().text());
    std::string calls;
    for (const ir::Callee& callee : instruction.callees()) {
      calls += (calls.empty() ? "@" : ", @") + callee.name;
    }
    node.attribute("calls", calls);
    add(node);
    for (size_t i = 0; i < instruction.result_count(); ++i) {
      outputs_.push_back(i == 0 ? name : fmt::format("{}:{}", name, i));
    }
  }

  void add(const GraphNode& node) { graph_.message(graph_field::node, node.message()); }

  // The label of the value; otherwise the operation and the number of the value.
  std::string name_of_node(ValueId value, std::string_view op) {
    const std::string_view label = function_.label(value);
    return unique(label.empty() ? fmt::format("{}{}_{}", scope_, op, value)
                                : fmt::format("{}{}", scope_, label));
  }
  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  const Function& function_;
  std::string scope_;
  ProtobufWriter& graph_;
  std::vector<std::string> outputs_;  // for each value, as nodes name it
  std::unordered_set<std::string> names_;
};

}  // namespace

std::string program_graph(const ir::Program& program) {
  ProtobufWriter graph;
  for (const auto& function : program.functions()) {
    const bool is_entry = function == program.functions().front();
    FunctionNodes(*function, is_entry ? "" : function->name() + "/", graph).add();
  }
  graph.message(graph_field::versions,
                ProtobufWriter().integer(versions_field::producer, kProducer));
  return graph.bytes();
}

}  // namespace plait
