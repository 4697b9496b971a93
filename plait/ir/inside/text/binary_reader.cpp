#include <unordered_map>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/attribute_values.h"
#include "plait/ir/builder.h"
#include "plait/ir/inside/text/binary_format.h"
#include "plait/ir/inside/text/location_text.h"

namespace plait::ir {
namespace {

struct StoredHead {
  std::string name;
  Signature signature;
  std::vector<std::string> labels;
  Location location;
};

class ProgramReader {
 public:
  explicit ProgramReader(std::string_view bytes) : reader_(bytes) {}

  Program read();

 private:
  void read_prologue();
  void read_record();
  void read_head();
  std::shared_ptr<const Function> read_body(const StoredHead& head);
  void read_instruction(FunctionBuilder& builder);
  void label_results(FunctionBuilder& builder, const Added& added);
  const Primitive& read_primitive();
  Callee read_callee();
  std::string read_label();
  Location read_location();
  std::vector<Dim> read_size_names();
  void read_values(size_t defined, std::vector<ValueId>& values);

  // Runs the action; errors are reported with the current position.
  template <class Action>
  auto with_position(Action action);

  ByteReader reader_;
  ProgramBuilder builder_;
  std::vector<StoredHead> heads_;
  std::unordered_set<std::string> function_names_, record_names_;
  LocationsRead locations_;
  std::unordered_map<std::string_view, const Primitive*> primitives_;

  // State of the current instruction.
  std::vector<ValueId> operands_;
  std::vector<Callee> callees_;
  std::vector<std::string> size_names_, labels_;
  std::vector<Type> types_;
};

template <class Action>
auto ProgramReader::with_position(Action action) {
  try {
    return action();
  } catch (const ParseError&) {
    throw;
  } catch (const Error& error) {
    reader_.fail(error.message());
  }
}

Program ProgramReader::read() {
  read_prologue();
  for (size_t n = reader_.count(); n > 0; --n) read_record();
  for (size_t n = reader_.count(); n > 0; --n) read_head();
  for (const StoredHead& head : heads_) builder_.add(read_body(head));
  if (!reader_.at_end()) reader_.fail("unexpected bytes after the end of the program");
  return with_position([&] { return builder_.finish(); });
}

void ProgramReader::read_prologue() {
  for (const char c : kBinaryMagic) {
    if (reader_.byte() != static_cast<uint8_t>(c)) {
      reader_.fail("this is not a program in binary form: it does not begin with PLIR");
    }
  }
  const uint64_t version = reader_.number();
  if (version == kBinaryVersion) return;
  reader_.fail(fmt::format("unknown version {} of the binary form; this build reads {}", version,
                           kBinaryVersion));
}

std::vector<Dim> ProgramReader::read_size_names() {
  std::vector<Dim> names = reader_.sizes();
  std::unordered_set<Dim> seen;
  for (const Dim name : names) {
    if (!name.is_symbol()) reader_.fail(fmt::format("{} is not the name of a size", name.text()));
    if (!seen.insert(name).second)
      reader_.fail(fmt::format("the size {} appears twice", name.name()));
  }
  return names;
}

std::string ProgramReader::read_label() {
  const std::string_view text = reader_.string();
  if (!text.empty() && !is_name(text)) reader_.fail("a label that is not a name");
  return std::string(text);
}

Location ProgramReader::read_location() { return locations_.parse(reader_.string()); }

void ProgramReader::read_record() {
  RecordType record;
  record.name = reader_.name();
  record.parameters = read_size_names();
  record.held = read_size_names();
  read_value(reader_, record.fields);
  if (!record_names_.insert(record.name).second) {
    reader_.fail(fmt::format("record @{} is defined twice", record.name));
  }
  with_position([&] { builder_.record(std::move(record)); });
}

void ProgramReader::read_head() {
  StoredHead head;
  Signature& signature = head.signature;
  head.name = reader_.name();
  signature.size_parameters = read_size_names();
  for (size_t n = reader_.count(); n > 0; --n) {
    signature.parameters.push_back(reader_.type());
    head.labels.push_back(read_label());
  }
  signature.result_sizes = read_size_names();
  read_value(reader_, signature.results);
  for (size_t n = reader_.count(); n > 0; --n) {
    const std::string_view name = reader_.name();
    if (signature.axes.find(name)) reader_.fail(fmt::format("the axis {} appears twice", name));
    signature.axes.axes.push_back({std::string(name), reader_.size()});
  }
  read_value(reader_, signature.facts);
  head.location = read_location();
  if (!function_names_.insert(head.name).second) {
    reader_.fail(fmt::format("function @{} is defined twice", head.name));
  }
  with_position([&] { builder_.declare(head.name, signature); });
  heads_.push_back(std::move(head));
}

std::shared_ptr<const Function> ProgramReader::read_body(const StoredHead& head) {
  FunctionBuilder builder(head.name, builder_.declarations());
  with_position([&] { builder.declare(head.signature, head.labels); });
  for (size_t i = 0; i < head.labels.size(); ++i) {
    if (builder.so_far().label(static_cast<ValueId>(i)) == head.labels[i]) continue;
    reader_.fail(fmt::format("the label %{} appears twice", head.labels[i]));
  }
  builder.set_location(head.location);
  for (size_t n = reader_.count(); n > 0; --n) read_instruction(builder);
  const std::vector<Dim> sizes = reader_.sizes();
  std::vector<ValueId> results;
  read_values(builder.so_far().value_count(), results);
  return with_position([&] { return builder.finish(results, sizes); });
}

const Primitive& ProgramReader::read_primitive() {
  const std::string_view name = reader_.string();
  const auto [place, is_new] = primitives_.try_emplace(name);
  if (is_new) with_position([&] { place->second = &primitive(name); });
  return *place->second;
}

Callee ProgramReader::read_callee() {
  Callee callee;
  callee.name = reader_.name();
  callee.sizes = reader_.sizes();
  return callee;
}

void ProgramReader::read_values(size_t defined, std::vector<ValueId>& values) {
  values.clear();
  for (size_t n = reader_.count(); n > 0; --n) {
    const uint64_t back = reader_.number();
    if (back == 0 || back > defined) {
      reader_.fail(fmt::format("a value {} positions back, but {} are defined", back, defined));
    }
    values.push_back(static_cast<ValueId>(defined - back));
  }
}

void ProgramReader::read_instruction(FunctionBuilder& builder) {
  const Primitive& primitive = read_primitive();
  size_names_.clear();
  for (const Dim size : read_size_names()) size_names_.emplace_back(size.name());
  const std::vector<Dim> size_arguments = reader_.sizes();
  callees_.clear();
  for (size_t n = reader_.count(); n > 0; --n) callees_.push_back(read_callee());
  read_values(builder.so_far().value_count(), operands_);
  Attributes attributes = Attributes::read(primitive.attributes, reader_);
  types_.clear();
  labels_.clear();
  for (size_t n = reader_.count(); n > 0; --n) {
    types_.push_back(reader_.type());
    labels_.push_back(read_label());
  }
  const NewInstruction instruction{.primitive = primitive,
                                   .operands = operands_,
                                   .attributes = std::move(attributes),
                                   .callees = callees_,
                                   .size_arguments = size_arguments,
                                   .size_names = size_names_,
                                   .stated_types = types_,
                                   .location = read_location()};
  label_results(builder, with_position([&] { return builder.add(instruction); }));
}

void ProgramReader::label_results(FunctionBuilder& builder, const Added& added) {
  const auto new_sizes = builder.so_far().instruction(added.instruction).size_results();
  if (added.count != labels_.size() || new_sizes.size() != size_names_.size()) {
    reader_.fail(fmt::format("an instruction returns {} sizes and {} values, expected {} and {}",
                             new_sizes.size(), added.count, size_names_.size(), labels_.size()));
  }
  for (size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i].empty()) continue;
    builder.label(added[i], labels_[i]);
    if (builder.so_far().label(added[i]) != labels_[i]) {
      reader_.fail(fmt::format("the label %{} appears twice", labels_[i]));
    }
  }
}

}  // namespace

Program Program::from_bytes(std::string_view bytes) {
  Program program = ProgramReader(bytes).read();
  verify(program);
  return program;
}

}  // namespace plait::ir
