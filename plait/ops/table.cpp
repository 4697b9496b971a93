#include "plait/ops/table.h"

#include <span>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "plait/ops/register_all.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/memory/device_memory.h"
#include "plait/tensor/rules.h"

namespace plait {
namespace {

std::vector<OpAttribute> attributes_of(const ir::Primitive& primitive) {
  std::vector<OpAttribute> attributes;
  if (primitive.attributes == nullptr) return attributes;
  for (const ir::AttributeField& field : primitive.attributes->fields) {
    OpAttribute attribute{.name = field.name, .default_value = {}};
    if (!field.required) {
      const void* const value = field.in(primitive.attributes->defaults.get());
      field.ops->print(attribute.default_value.emplace(), value);
    }
    attributes.push_back(std::move(attribute));
  }
  return attributes;
}

std::vector<std::string_view> names_of(const Rules& rules) {
  std::vector<std::string_view> names;
  const auto name = [&](bool is_there, std::string_view rule) {
    if (is_there) names.push_back(rule);
  };
  name(!rules.partials.empty(), "partials");
  name(!rules.transposes.empty(), "transposes");
  name(rules.tangents.of != nullptr, "tangents");
  name(rules.batching.of != nullptr, "batching");
  name(rules.collective.of != nullptr, "collective");
  name(!rules.not_differentiable.empty(), "not_differentiable");
  return names;
}

std::vector<ir::Range> domain_of(const ir::Primitive& primitive) {
  std::vector<ir::Range> domain;
  if (primitive.elementwise == ir::Elementwise::no) return domain;
  for (size_t i = 0; i < primitive.operands.least; ++i) {
    domain.push_back(primitive.numerics.domain.of_operand(i));
  }
  return domain;
}

std::string text_of(std::span<const ir::Range> domain) {
  std::string text;
  for (const ir::Range& range : domain) {
    text += fmt::format("{}{} to {}", text.empty() ? "" : ", ", range.low, range.high);
  }
  return text;
}

std::string text_of(const OpAttribute& attribute) {
  if (!attribute.default_value) return std::string(attribute.name);
  return fmt::format("{} = {}", attribute.name, *attribute.default_value);
}

}  // namespace

std::string_view name_of(ir::Elementwise elementwise) {
  switch (elementwise) {
    case ir::Elementwise::no: return "no";
    case ir::Elementwise::same: return "same";
    case ir::Elementwise::truth: return "truth";
    case ir::Elementwise::real: return "real";
  }
  return "";
}

std::string_view name_of(ir::Precision precision) {
  switch (precision) {
    case ir::Precision::given: return "given";
    case ir::Precision::narrow: return "narrow";
    case ir::Precision::wide: return "wide";
  }
  return "";
}

std::string_view name_of(ir::Accuracy accuracy) {
  switch (accuracy) {
    case ir::Accuracy::exact: return "exact";
    case ir::Accuracy::rounded: return "rounded";
    case ir::Accuracy::twice: return "twice";
    case ir::Accuracy::function: return "function";
    case ir::Accuracy::power: return "power";
    case ir::Accuracy::special: return "special";
  }
  return "";
}

std::string text_of(ir::Count count) {
  if (count.most == ir::Count::kAny) return fmt::format("{} or more", count.least);
  if (count.most == count.least) return fmt::format("{}", count.least);
  return fmt::format("{} to {}", count.least, count.most);
}

std::string Op::text() const {
  std::string out;
  const auto line = [&](std::string_view what, std::string_view is) {
    if (!is.empty()) out += fmt::format("{:12}{}\n", what, is);
  };
  std::vector<std::string> given;
  for (const OpAttribute& attribute : attributes) given.push_back(text_of(attribute));
  line("name", name);
  line("summary", summary);
  line("operands", text_of(operands));
  line("dtypes", operands.most == 0 ? "" : takes.text());
  line("attributes", fmt::format("{}", fmt::join(given, ", ")));
  line("elementwise", elementwise == ir::Elementwise::no ? "" : name_of(elementwise));
  const bool is_elementwise = elementwise != ir::Elementwise::no;
  line("accuracy", is_elementwise ? name_of(accuracy) : "");
  line("domain", text_of(domain));
  line("precision", precision == ir::Precision::given ? "" : name_of(precision));
  line("loops", !has_signature ? "" : has_body ? "signature and body" : "signature");
  line("rules", fmt::format("{}", fmt::join(rules, ", ")));
  line("derivative", not_differentiable.empty() ? "" : fmt::format("none: {}", not_differentiable));
  line("effects", communicates  ? "communicates along named axes"
                  : has_effects ? "by its attributes and operands"
                                : "");
  line("oracle", oracle);
  return out;
}

Op op_of(const ir::Primitive& primitive) {
  load_device_kernels(Device::Kind::cuda);
  static const Rules no_rules;
  const Rules* const found = find_rules(primitive);
  const Rules& rules = found != nullptr ? *found : no_rules;
  const ir::ScalarBody& body = primitive.body;
  return {.name = primitive.name,
          .summary = primitive.summary,
          .operands = primitive.operands,
          .takes = primitive.takes,
          .attributes = attributes_of(primitive),
          .elementwise = primitive.elementwise,
          .precision = primitive.numerics.precision,
          .accuracy = primitive.numerics.accuracy,
          .domain = domain_of(primitive),
          .has_signature =
              primitive.signature != nullptr || primitive.elementwise != ir::Elementwise::no,
          .has_body = body.real || body.integer || body.natural || body.complex,
          .rules = names_of(rules),
          .not_differentiable = rules.not_differentiable,
          .has_effects = primitive.effects != nullptr,
          .communicates = primitive.communicates != nullptr,
          .runs_on_cuda = find_device_kernel(primitive, Device::Kind::cuda) != nullptr,
          .oracle = primitive.oracle};
}

std::vector<Op> ops() {
  register_all();
  std::vector<Op> found;
  for (const ir::Primitive* primitive : ir::primitives()) {
    const bool computes = primitive->structure == ir::Structure::machine;
    if (computes && !primitive->is_placeholder) found.push_back(op_of(*primitive));
  }
  return found;
}

}  // namespace plait
