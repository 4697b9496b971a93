#include "plait/io/inside/logs/event_records.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/crc32c.h"
#include "plait/io/inside/logs/event_fields.h"
#include "plait/io/inside/protobuf_fields.h"

namespace plait {
namespace {

constexpr uint64_t kRecordLengthBytes = 8, kRecordChecksumBytes = 4;
constexpr uint64_t kRecordHeaderBytes = kRecordLengthBytes + kRecordChecksumBytes;

// Masked, because the checksum of bytes that contain their own checksum is a bad one.
uint32_t masked_crc(std::span<const std::byte> bytes) {
  const uint32_t crc = crc32c_of(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

template <class T>
void append_little_endian(std::string& bytes, T value) {
  for (size_t i = 0; i < sizeof(T); ++i) bytes += static_cast<char>(value >> (8 * i));
}

uint64_t end_of_content(std::span<const std::byte> file) {
  const auto last =
      std::find_if(file.rbegin(), file.rend(), [](std::byte byte) { return byte != std::byte{0}; });
  return static_cast<uint64_t>(file.rend() - last);
}

void read_summary(std::span<const std::byte> summary, uint64_t begin, EventContent& content) {
  ProtobufReader values(summary, begin);
  while (const auto value = values.next()) {
    if (value->number != summary_field::value) continue;
    content.first_value = value->text();
    ProtobufReader fields(value->message(), value->position);
    while (const auto field = fields.next()) {
      if (field->number == value_field::tag) content.first_tag = field->text();
    }
    return;
  }
}

}  // namespace

std::string event_record(std::string_view payload) {
  std::string record;
  record.reserve(payload.size() + kRecordHeaderBytes + kRecordChecksumBytes);
  append_little_endian<uint64_t>(record, payload.size());
  append_little_endian<uint32_t>(record, masked_crc(bytes_of(std::string_view(record))));
  record += payload;
  append_little_endian<uint32_t>(record, masked_crc(bytes_of(payload)));
  return record;
}

EventRecordReader::EventRecordReader(std::span<const std::byte> file)
    : file_(file), content_end_(end_of_content(file)) {}

std::optional<EventRecord> EventRecordReader::next() {
  const uint64_t begin = position_;
  FieldReader fields(file_, begin);
  if (fields.left() < kRecordHeaderBytes) return std::nullopt;
  const auto length = fields.number<uint64_t>();
  const auto length_crc = fields.number<uint32_t>();
  if (masked_crc(file_.subspan(begin, kRecordLengthBytes)) != length_crc) {
    if (fields.position() >= content_end_) return std::nullopt;
    throw ParseError("byte {}: the length of a record is damaged, or this is not a file of events",
                     begin);
  }
  if (fields.left() < kRecordChecksumBytes || fields.left() - kRecordChecksumBytes < length) {
    return std::nullopt;
  }
  EventRecord record{.begin = begin, .payload_begin = fields.position()};
  record.payload = fields.take(length);
  const auto crc = fields.number<uint32_t>();
  record.end = fields.position();
  if (masked_crc(record.payload) != crc) {
    if (record.end >= content_end_) return std::nullopt;
    throw ParseError("byte {}: a record does not have its checksum: it is damaged", begin);
  }
  position_ = record.end;
  return record;
}

EventContent read_event(std::span<const std::byte> payload, uint64_t payload_begin) {
  EventContent content;
  ProtobufReader fields(payload, payload_begin);
  while (const auto field = fields.next()) {
    switch (field->number) {
      case event_field::step: content.step = field->integer(); break;
      case event_field::file_version: content.is_version = true; break;
      case event_field::graph: content.graph = field->text(); break;
      case event_field::summary: read_summary(field->message(), field->position, content); break;
      default: break;
    }
  }
  return content;
}

}  // namespace plait
