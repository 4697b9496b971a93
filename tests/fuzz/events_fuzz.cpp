// Any bytes either are a file of events or give an error. Payloads are also read without their
// checksums, which a fuzzer seldom finds.
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/logs/event_records.h"

namespace {

using Bytes = std::span<const std::byte>;

// The whole records are read again from a file that ends there.
void read_records(Bytes file) {
  plait::EventRecordReader reader(file);
  while (const auto record = reader.next()) {
    plait::read_event(record->payload, record->payload_begin);
  }
  plait::EventRecordReader again(file.first(reader.position()));
  while (again.next()) continue;
  if (again.position() != reader.position()) throw std::logic_error("another end");
}

void read_payload(Bytes payload) {
  const plait::EventContent content = plait::read_event(payload, 0);
  const std::string record = plait::event_record(plait::characters_of(payload));
  const Bytes file = plait::bytes_of(std::string_view(record));
  const auto found = plait::EventRecordReader(file).next();
  if (!found || found->end != file.size() ||
      plait::read_event(found->payload, 0).step != content.step) {
    throw std::logic_error("an event differs, read again");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Bytes bytes = std::as_bytes(std::span(data, size));
  for (const auto& work : {read_records, read_payload}) {
    try {
      work(bytes);
    } catch (const plait::Error&) {
    }
  }
  return 0;
}
