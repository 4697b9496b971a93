#include "plait/comm/inside/stores/store_file.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/stores/store_messages.h"
#include "plait/comm/inside/stores/store_table.h"
#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/crc32c.h"

namespace plait::dist {
namespace {

constexpr uint64_t kRecordHead = 12;  // checksum and size of what follows
constexpr uint8_t kDeleted = 0, kSet = 1;

void append_field(std::vector<std::byte>& bytes, std::string_view field) {
  append_number<uint64_t>(bytes, field.size());
  const auto copied = plait::bytes_of(field);
  bytes.insert(bytes.end(), copied.begin(), copied.end());
}

std::string field_of(FieldReader& reader) {
  return std::string(characters_of(reader.take(reader.number<uint64_t>())));
}

}  // namespace

std::string record_of(const std::vector<StoreChange>& changes) {
  std::vector<std::byte> body;
  for (const StoreChange& change : changes) {
    append_number<uint8_t>(body, change.value ? kSet : kDeleted);
    append_field(body, change.key);
    if (change.value) append_field(body, *change.value);
  }
  std::vector<std::byte> record;
  append_number<uint32_t>(record, crc32c_of(body));
  append_number<uint64_t>(record, body.size());
  record.insert(record.end(), body.begin(), body.end());
  return std::string(characters_of(record));
}

std::optional<StoreRecord> read_record(std::span<const std::byte> bytes) {
  if (bytes.size() < kRecordHead) return std::nullopt;
  FieldReader head(bytes);
  const auto checksum = head.number<uint32_t>();
  const auto size = head.number<uint64_t>();
  if (size > head.left()) return std::nullopt;
  const std::span<const std::byte> body = head.take(size);
  if (crc32c_of(body) != checksum) return std::nullopt;
  StoreRecord record{.size = kRecordHead + size};
  FieldReader reader(body);
  while (reader.left() > 0) {
    const auto kind = reader.number<uint8_t>();
    if (kind > kSet) throw ParseError("{} is not a kind of change", kind);
    StoreChange change{.key = field_of(reader), .value = {}};
    if (kind == kSet) change.value = field_of(reader);
    record.changes.push_back(std::move(change));
  }
  return record;
}

StoreFile::StoreFile(std::string path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_.number() < 0) fail("open");
}

void StoreFile::lock(std::chrono::milliseconds timeout) {
  const Deadline deadline(timeout);
  for (int tries = 0; ::flock(file_.number(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) fail("lock");
    if (deadline.has_passed()) {
      throw DistError("FileStore: another process holds the lock of {} for {} s", path_,
                      static_cast<double>(timeout.count()) / 1000)
          .hint("see whether one has stopped");
    }
    ::usleep(tries < 10 ? 20 : 1000);
  }
}

void StoreFile::unlock() { ::flock(file_.number(), LOCK_UN); }

bool StoreFile::has_grown() const {
  struct stat status{};
  if (::fstat(file_.number(), &status) != 0) fail("read");
  return static_cast<uint64_t>(status.st_size) != read_;
}

void StoreFile::read_into(StoreTable& table) {
  struct stat status{};
  if (::fstat(file_.number(), &status) != 0) fail("read");
  std::string text(static_cast<uint64_t>(status.st_size) - read_, '\0');
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::pread(file_.number(), text.data() + done, text.size() - done,
                                  static_cast<off_t>(read_ + done));
    if (count <= 0) fail("read");
    done += static_cast<size_t>(count);
  }
  std::span<const std::byte> bytes = plait::bytes_of(text);
  if (read_ == 0) {
    const size_t begun = std::min(text.size(), kStoreGreeting.size());
    if (text.compare(0, begun, kStoreGreeting, 0, begun) != 0) {
      throw IoError("{} is not a file of a FileStore", path_).hint("choose a path without a file");
    }
    if (begun == kStoreGreeting.size()) {  // else its first writer was killed
      read_ = begun;
      bytes = bytes.subspan(begun);
    }
  }
  while (const std::optional<StoreRecord> record = read_ == 0 ? std::nullopt : read_record(bytes)) {
    for (const StoreChange& change : record->changes) {
      if (change.value) table.set(change.key, *change.value);
      if (!change.value) table.erase(change.key);
    }
    read_ += record->size;
    bytes = bytes.subspan(record->size);
  }
  if (!bytes.empty() && ::ftruncate(file_.number(), static_cast<off_t>(read_)) != 0) fail("write");
}

void StoreFile::append(const std::vector<StoreChange>& changes) {
  std::string bytes = record_of(changes);
  if (read_ == 0) bytes.insert(0, kStoreGreeting);
  for (std::string_view left = bytes; !left.empty();) {
    const ssize_t count = ::write(file_.number(), left.data(), left.size());
    if (count < 0 && errno != EINTR) fail("write");
    if (count > 0) left.remove_prefix(static_cast<size_t>(count));
  }
  read_ += bytes.size();
}

void StoreFile::remove() { ::unlink(path_.c_str()); }

void StoreFile::fail(const char* action) const {
  throw IoError("FileStore: cannot {} {}: {}", action, path_,
                std::generic_category().message(errno));
}

}  // namespace plait::dist
