#include "plait/io/inside/file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/core/error.h"

namespace plait {
namespace {

constexpr size_t kMostForWrite = size_t{1} << 30;  // Linux transfers at most 2 GiB at a time

std::string reason(int error) { return std::generic_category().message(error); }

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// Resolves a chain of symbolic links, so that the file is replaced and not the link.
std::string file_behind(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

}  // namespace

// ---- Reading.

InputFile::InputFile(const std::string& path) {
  // Non-blocking: opening a pipe without a writer would block.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) throw IoError("cannot open {}: {}", path, reason(errno));
  struct stat status{};
  if (::fstat(file.number, &status) != 0) {
    throw IoError("cannot read {}: {}", path, reason(errno));
  }
  if (!S_ISREG(status.st_mode)) throw IoError("cannot read {}: it is not a regular file", path);
  const auto size = static_cast<size_t>(status.st_size);
  if (size < kWorthMapping) {
    read(file.number, size, path);
  } else {
    map(file.number, size, path);
  }
}

InputFile::~InputFile() {
  if (buffer_ || bytes_.empty()) return;
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void InputFile::map(int descriptor, size_t size, const std::string& path) {
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory == MAP_FAILED) throw IoError("cannot map {}: {}", path, reason(errno));
  bytes_ = {static_cast<const std::byte*>(memory), size};
}

void InputFile::read(int descriptor, size_t size, const std::string& path) {
  buffer_ = Buffer::allocate(static_cast<int64_t>(size));
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(descriptor, buffer_.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw IoError("cannot read {}: {}", path, reason(errno));
    if (count == 0) break;  // truncated meanwhile
    done += static_cast<size_t>(count);
  }
  bytes_ = {buffer_.data(), done};
}

// ---- Writing.

OutputFile::OutputFile(const std::string& path) : path_(file_behind(path)) {
  struct stat status{};
  if (::stat(path_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) throw IoError("cannot write {}: it is not a regular file", path);
    if (::access(path_.c_str(), W_OK) != 0) fail();
    mode_ = status.st_mode & 0777;
    replaces_ = true;
  }
  create();
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

// Other processes may write the same file concurrently: each uses a temporary name that is free.
void OutputFile::create() {
  for (int attempt = 0; descriptor_ < 0; ++attempt) {
    temporary_ = fmt::format("{}.{}-{}.part", path_, ::getpid(), attempt);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode_);
    if (descriptor_ < 0 && errno != EEXIST) fail();
  }
  // Keep the mode of the old file, independent of the umask.
  if (replaces_) ::fchmod(descriptor_, mode_);
}

void OutputFile::fail() const { throw IoError("cannot write {}: {}", path_, reason(errno)); }

void OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMostForWrite));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

void OutputFile::finish() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail();  // some file systems have no fsync
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace plait
