// Whole files: read or mapped, and replaced atomically. Errors of the operating system are IoErrors
// with its message.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "plait/tensor/memory/buffer.h"

namespace plait {

// Smaller files are read instead of mapped: a mapping keeps the whole file open.
inline constexpr size_t kWorthMapping = size_t{1} << 20;

// The bytes of a file, for the lifetime of the object.
class InputFile {
 public:
  explicit InputFile(const std::string& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void map(int descriptor, size_t size, const std::string& path);
  void read(int descriptor, size_t size, const std::string& path);

  std::span<const std::byte> bytes_;
  Buffer buffer_;  // the bytes if they were read; empty if they are mapped
};

// Writes to a temporary file in the same folder; finish() renames it. A reader sees the old or the
// new file, never a part. Without finish() the temporary file is removed.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void finish();  // returns when the bytes are on the disk

 private:
  void create();
  [[noreturn]] void fail() const;  // with the current error of the system

  std::string path_, temporary_;
  unsigned mode_ = 0666;  // minus the umask
  bool replaces_ = false;
  int descriptor_ = -1;
};

}  // namespace plait
