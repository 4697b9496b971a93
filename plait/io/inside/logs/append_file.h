// A file that grows by whole records.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plait {

// Each record is passed to the system when it is appended, so it survives the death of the process.
// Errors of the system are IoErrors.
class AppendFile {
 public:
  // Creates the file if it is missing.
  explicit AppendFile(const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // All of the record, or nothing of it if the disk is full. IoError in a process that was forked
  // since, which would write into the same place.
  void append(std::string_view record);
  void sync();  // returns when all records are on the disk
  uint64_t size() const { return size_; }

 private:
  [[noreturn]] void fail() const;
  void expect_same_process() const;
  void remove_torn();

  std::string path_;
  uint64_t size_ = 0;     // size of whole records
  bool is_torn_ = false;  // more bytes follow, because the file could not be shortened
  int descriptor_ = -1;
  int process_;
};

// Shortens a file, and returns when that is on the disk.
void cut_file(const std::string& path, uint64_t size);

// Removes what an OutputFile of this path, in a process that was killed, has left beside it.
void remove_unfinished(const std::string& path);

}  // namespace plait
