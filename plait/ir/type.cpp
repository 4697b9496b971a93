#include "plait/ir/type.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait::ir {

namespace {

std::string_view name_of(Type::Kind kind) {
  switch (kind) {
    case Type::Kind::none: return "nothing";
    case Type::Kind::array: return "an array";
    case Type::Kind::tuple: return "a tuple";
    case Type::Kind::record: return "a record";
    case Type::Kind::optional: return "an optional value";
  }
  return "";
}

size_t combine(size_t seed, size_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15ull + (seed >> 29);
}

std::string join_dims(std::span<const Dim> dims) {
  std::string out;
  for (Dim dim : dims) {
    if (!out.empty()) out += ", ";
    out += dim.text();
  }
  return out;
}

void append_dimensions(std::string& out, const Shape& shape, const Sharding& sharding) {
  for (size_t i = 0; i < static_cast<size_t>(shape.rank()); ++i) {
    if (i) out += ", ";
    out += shape[i].text();
    if (sharding.splits.empty() || sharding.splits[i].empty()) continue;
    const std::vector<std::string>& axes = sharding.splits[i];
    out += " @";
    if (axes.size() == 1) {
      out += axes[0];
      continue;
    }
    out += '(';
    for (size_t k = 0; k < axes.size(); ++k) out += (k ? ", " : "") + axes[k];
    out += ')';
  }
}

}  // namespace

Type::Type(Node node) {
  node.depth = node.parts = 1;
  for (const Type& element : node.elements) {
    if (!element) throw TypeError("a part of a type is missing");
    node.depth = std::max(node.depth, element.node_->depth + 1);
    node.parts += element.node_->parts;
  }
  if (node.depth > kDeepest || node.parts > kMostParts) {
    throw TypeError("a type of {} levels and {} parts; at most {} and {} are allowed", node.depth,
                    node.parts, kDeepest, kMostParts)
        .hint("a record gives a type a name");
  }
  node_ = std::make_shared<const Node>(std::move(node));
}

Type Type::array(DType dtype, Shape shape, AxisSet varying, Sharding sharding) {
  if (!sharding.splits.empty() && sharding.splits.size() != static_cast<size_t>(shape.rank())) {
    throw ShapeError("a sharding of {} dimensions for an array of shape {}", sharding.splits.size(),
                     shape.text());
  }
  Node node{.kind = Kind::array};
  node.dtype = dtype;
  node.shape = std::move(shape);
  node.varying = std::move(varying);
  node.sharding = std::move(sharding);
  return Type(std::move(node));
}

Type Type::tuple(std::vector<Type> elements) {
  Node node{.kind = Kind::tuple};
  node.elements = std::move(elements);
  return Type(std::move(node));
}

Type Type::record(std::string name, std::vector<Dim> arguments) {
  Node node{.kind = Kind::record};
  node.name = std::move(name);
  node.arguments = std::move(arguments);
  return Type(std::move(node));
}

Type Type::optional(Type element) {
  if (!element) throw TypeError("an optional value needs a type");
  Node node{.kind = Kind::optional};
  node.elements = {std::move(element)};
  return Type(std::move(node));
}

const Type::Node& Type::expect(Kind wanted) const {
  if (kind() != wanted) {
    throw TypeError("expected {}, not {}", name_of(wanted), node_ ? text() : "nothing");
  }
  return *node_;
}

Type Type::with_shape(Shape shape) const {
  const Node& node = expect(Kind::array);
  return array(node.dtype, std::move(shape), node.varying);
}

Type Type::with_dtype(DType dtype) const {
  const Node& node = expect(Kind::array);
  if (node.dtype == dtype) return *this;
  return array(dtype, node.shape, node.varying, node.sharding);
}

Type Type::with_varying(AxisSet varying) const {
  if (!node_ || node_->kind == Kind::record) return *this;
  Node node = *node_;
  if (node.kind == Kind::array)
    node.varying = std::move(varying);
  else
    for (Type& element : node.elements) element = element.with_varying(varying);
  return Type(std::move(node));
}

Type Type::without_sharding() const {
  if (!node_ || node_->kind == Kind::record) return *this;
  if (node_->kind == Kind::array && !node_->sharding.said()) return *this;
  Node node = *node_;
  node.sharding = {};
  for (Type& element : node.elements) element = element.without_sharding();
  return Type(std::move(node));
}

AxisSet Type::all_varying() const {
  if (!node_) return {};
  AxisSet all = node_->varying;
  for (const Type& element : node_->elements) all.insert(element.all_varying());
  return all;
}

Type Type::substitute(const SymbolMap<Dim>& sizes) const {
  if (!node_ || sizes.empty()) return *this;
  bool named = false;
  for_each_dim([&](Dim dim) { named |= !dim.is_number(); });
  if (!named) return *this;
  Node node = *node_;
  node.shape = node.shape.substitute(sizes);
  for (Type& element : node.elements) element = element.substitute(sizes);
  for (Dim& argument : node.arguments) argument = argument.substitute(sizes);
  return Type(std::move(node));
}

void Type::for_each_dim(const std::function<void(Dim)>& visit) const {
  if (!node_) return;
  for (Dim dim : node_->shape) visit(dim);
  for (Dim argument : node_->arguments) visit(argument);
  for (const Type& element : node_->elements) element.for_each_dim(visit);
}

std::string Type::text() const {
  if (!node_) return "none";
  switch (node_->kind) {
    case Kind::none: return "none";
    case Kind::array: {
      std::string out(plait::name_of(node_->dtype));
      out += '[';
      append_dimensions(out, node_->shape, node_->sharding);
      out += ']';
      if (!node_->varying.empty()) out += "^" + node_->varying.text();
      if (!node_->sharding.partial.empty()) out += "+" + node_->sharding.partial.text();
      return out;
    }
    case Kind::tuple: {
      std::string out = "(";
      for (size_t i = 0; i < node_->elements.size(); ++i) {
        if (i) out += ", ";
        out += node_->elements[i].text();
      }
      return out + ")";
    }
    case Kind::record:
      if (node_->arguments.empty()) return "@" + node_->name;
      return "@" + node_->name + "<" + join_dims(node_->arguments) + ">";
    case Kind::optional: return node_->elements[0].text() + "?";
  }
  return "";
}

size_t Type::hash() const {
  if (!node_) return 0;
  size_t seed = combine(static_cast<size_t>(node_->kind), static_cast<size_t>(node_->dtype));
  for (Dim dim : node_->shape) seed = combine(seed, std::hash<Dim>()(dim));
  for (Dim dim : node_->arguments) seed = combine(seed, std::hash<Dim>()(dim));
  for (const Type& element : node_->elements) seed = combine(seed, element.hash());
  for (const std::string& axis : node_->varying)
    seed = combine(seed, std::hash<std::string>()(axis));
  return combine(seed, std::hash<std::string>()(node_->name));
}

bool operator==(const Type& a, const Type& b) {
  if (a.node_ == b.node_) return true;
  if (!a.node_ || !b.node_) return false;
  const Type::Node &x = *a.node_, &y = *b.node_;
  return x.kind == y.kind && x.dtype == y.dtype && same(x.shape, y.shape) &&
         x.varying == y.varying && x.sharding == y.sharding && x.elements == y.elements &&
         x.name == y.name && std::ranges::equal(x.arguments, y.arguments, kSame);
}

bool fits(const Type& given, const Type& wanted) {
  return given == wanted || given.without_sharding() == wanted.without_sharding();
}

bool fits_but_for_axes(const Type& given, const Type& wanted) {
  return fits(given, wanted) || fits(given.with_varying({}), wanted.with_varying({}));
}

std::vector<Type> RecordType::fields_of(std::span<const Dim> arguments,
                                        std::span<const Dim> held_sizes) const {
  if (arguments.size() != parameters.size() || held_sizes.size() != held.size()) {
    throw TypeError("@{} takes {} size arguments and holds {} sizes, not {} and {}", name,
                    parameters.size(), held.size(), arguments.size(), held_sizes.size());
  }
  SymbolMap<Dim> sizes;
  for (size_t i = 0; i < parameters.size(); ++i) sizes.set(parameters[i], arguments[i]);
  for (size_t i = 0; i < held.size(); ++i) sizes.set(held[i], held_sizes[i]);
  std::vector<Type> types;
  types.reserve(fields.size());
  for (const Type& field : fields) types.push_back(field.substitute(sizes));
  return types;
}

std::string RecordType::text() const {
  std::string out = "type @" + name;
  if (!parameters.empty()) out += "<" + join_dims(parameters) + ">";
  out += " = ";
  if (!held.empty()) out += "<" + join_dims(held) + "> ";
  out += "{";
  for (size_t i = 0; i < fields.size(); ++i) out += (i ? ", " : "") + fields[i].text();
  return out + "}";
}

}  // namespace plait::ir
