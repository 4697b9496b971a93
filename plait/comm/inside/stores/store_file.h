// The file of a FileStore: records of changes, one after another, each with a checksum.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plait/comm/inside/sockets/socket.h"

namespace plait::dist {

class StoreTable;

struct StoreChange {
  std::string key;
  std::optional<std::string> value;  // none: the key is deleted
};

class StoreFile {
 public:
  explicit StoreFile(std::string path);

  void lock(std::chrono::milliseconds timeout);  // DistError if it is not free within it
  void unlock();
  // True if there are records that were not read.
  bool has_grown() const;
  // Reads further records into the table. Bytes behind the last whole one are removed: their writer
  // was killed. Under the lock.
  void read_into(StoreTable& table);
  // Writes records, which the next read skips. Under the lock, when all was read.
  void append(const std::vector<StoreChange>& changes);
  // Reads from the beginning again next time.
  void restart() { read_ = 0; }
  void remove();

 private:
  [[noreturn]] void fail(const char* action) const;

  std::string path_;
  Descriptor file_;
  uint64_t read_ = 0;  // bytes
};

// The bytes of a record, of which several may follow each other: all of them are taken, or none.
std::string record_of(const std::vector<StoreChange>& changes);
// The changes of the record that the bytes begin with, and its size; none if it is not whole.
struct StoreRecord {
  std::vector<StoreChange> changes = {};
  uint64_t size = 0;
};
std::optional<StoreRecord> read_record(std::span<const std::byte> bytes);

}  // namespace plait::dist
