#include "plait/transform/control/record.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ir/text/parser_types.h"
#include "plait/transform/inside/forms/records/declared_records.h"
#include "plait/transform/inside/forms/records/record_forms.h"

namespace plait {
namespace records {

void declare(std::string_view name, std::span<const ir::Type> fields) {
  declare_record(name, fields);
}

Tensor make(std::string_view name, std::span<const Tensor> fields) {
  const ir::RecordType& record = record_named(name);
  if (fields.size() != record.fields.size()) {
    throw ValueError("@{} has {} fields, {} are given", name, record.fields.size(), fields.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < fields.size(); ++i) {
    const ir::Type given = fields[i].type().without_sharding();
    if (given == record.fields[i]) continue;
    throw TypeError("@{}: field {} is {}, expected {}", name, i, given.text(),
                    record.fields[i].text())
        .at(Location::of_caller());
  }
  return present(packed(record, fields));
}

Tensor none(std::string_view name) { return absent(record_named(name)); }

Tensor is_there(const Tensor& record) { return is_present(record); }

std::vector<Tensor> fields(const Tensor& record) {
  const ir::RecordType& type = record_of(record);
  return unpacked(type, unwrapped(record));
}

}  // namespace records

Record::Record(std::string_view name, std::initializer_list<std::string_view> fields) : name(name) {
  std::vector<ir::Type> types;
  for (const std::string_view text : fields) types.push_back(parse_whole(text, ir::parse_type));
  records::declare(name, types);
}

}  // namespace plait
