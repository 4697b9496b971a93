// Files as a whole: read or mapped, and replaced in one step. What the system refuses is an IoError
// that says why.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "plait/tensor/memory/buffer.h"

namespace plait {

// What is smaller than this is not worth a mapping, which keeps the whole file open.
inline constexpr size_t kWorthMapping = size_t{1} << 20;

// The bytes of a file, for as long as this lives.
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
  Buffer buffer_;  // of bytes that were read; none when they are mapped
};

// Written beside its name, and given the name by finish(): a reader sees the old file or the new
// one, never a part. Without finish() nothing stays.
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
  [[noreturn]] void fail() const;  // with what the system just said

  std::string path_, temporary_;
  unsigned mode_ = 0666;  // less what the process masks
  bool replaces_ = false;
  int descriptor_ = -1;
};

}  // namespace plait
