#include "plait/io/inside/logs/append_file.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/core/error.h"

namespace plait {
namespace {

constexpr size_t kMostForAppend = size_t{1} << 30;  // Linux transfers at most 2 GiB at a time
constexpr std::string_view kUnfinishedEnding = ".part";

[[noreturn]] void fail_to_write(const std::string& path) {
  throw IoError("cannot write {}: {}", path, std::generic_category().message(errno));
}

// Some files cannot be synchronised: pipes, and files of a few file systems.
void sync_descriptor(int descriptor, const std::string& path) {
  if (::fdatasync(descriptor) != 0 && errno != EINVAL && errno != EROFS) fail_to_write(path);
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

// A new name is on the disk when its folder is.
void sync_folder_of(const std::string& path) {
  const int descriptor = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

AppendFile::AppendFile(const std::string& path) : path_(path), process_(::getpid()) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail();
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw IoError("cannot write {}: it is not a regular file", path);
  }
  size_ = static_cast<uint64_t>(status.st_size);
  if (size_ == 0) sync_folder_of(path);
}

AppendFile::~AppendFile() { ::close(descriptor_); }

void AppendFile::fail() const { fail_to_write(path_); }

void AppendFile::expect_same_process() const {
  if (process_ == ::getpid()) return;
  throw IoError("cannot write {}: it was opened by process {}, which this one was forked from",
                path_, process_)
      .hint("open another log in this process");
}

void AppendFile::remove_torn() {
  if (!is_torn_) return;
  if (::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0) fail();
  is_torn_ = false;
}

void AppendFile::append(std::string_view record) {
  expect_same_process();
  remove_torn();
  for (std::string_view left = record; !left.empty();) {
    const ssize_t count = ::write(descriptor_, left.data(), std::min(left.size(), kMostForAppend));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      is_torn_ = ::ftruncate(descriptor_, static_cast<off_t>(size_)) != 0;
      errno = error;
      fail();
    }
    left.remove_prefix(static_cast<size_t>(count));
  }
  size_ += record.size();
}

void AppendFile::sync() {
  expect_same_process();
  sync_descriptor(descriptor_, path_);
}

void cut_file(const std::string& path, uint64_t size) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail_to_write(path);
  const bool is_cut = ::ftruncate(descriptor, static_cast<off_t>(size)) == 0 &&
                      (::fsync(descriptor) == 0 || errno == EINVAL);
  const int error = errno;
  ::close(descriptor);
  errno = error;
  if (!is_cut) fail_to_write(path);
}

void remove_unfinished(const std::string& path) {
  namespace fs = std::filesystem;
  const std::string begin = fs::path(path).filename().string() + ".";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_of(path), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(kUnfinishedEnding)) continue;
    const std::string_view number = std::string_view(name).substr(
        begin.size(), name.size() - std::min(name.size(), begin.size() + kUnfinishedEnding.size()));
    const bool is_ours = !number.empty() && std::ranges::all_of(number, [](char c) {
      return c == '-' || (c >= '0' && c <= '9');
    });
    if (is_ours) fs::remove(entry.path(), error);
  }
}

}  // namespace plait
