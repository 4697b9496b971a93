#include "plait/io/inside/file.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

void write(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.write(bytes_of(content));
  file.finish();
}

std::string content_of(const std::string& path) { return text(InputFile(path).bytes()); }

TEST(OutputFile, AppearsWhenItIsFinished) {
  const TemporaryFolder folder;
  const std::string path = folder.path("file");
  write(path, "old");
  {
    OutputFile file(path);
    file.write(bytes_of(std::string_view("new")));
    EXPECT_EQ(content_of(path), "old");
    OutputFile second(path);  // replaces the content of the first
    second.write(bytes_of(std::string_view("newer")));
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.file_count(), 1u);
  write(path, "new");
  EXPECT_EQ(content_of(path), "new");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(OutputFile, AKilledProcessLeavesTheOldOne) {
  const TemporaryFolder folder;
  write(folder.path("file"), "old");
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile file(folder.path("file"));
    file.write(bytes_of(std::string_view("half")));
    ::_exit(9);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 9);
  EXPECT_EQ(content_of(folder.path("file")), "old");
}

TEST(OutputFile, KeepsModesAndLinks) {
  const TemporaryFolder folder;
  const std::string target = folder.path("target"), link = folder.path("link");
  write(target, "old");
  ASSERT_EQ(::chmod(target.c_str(), 0606), 0);
  ASSERT_EQ(::symlink("target", link.c_str()), 0);
  write(link, "new");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(content_of(target), "new");
  struct stat status{};
  ASSERT_EQ(::stat(target.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0606u);
}

TEST(InputFile, HoldsAllBytesReadOrMapped) {
  const TemporaryFolder folder;
  for (const size_t size :
       {size_t{0}, size_t{1}, kWorthMapping - 1, kWorthMapping, size_t{3} << 20}) {
    std::string content(size, '\0');
    for (size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * i >> 3);
    write(folder.path("file"), content);
    EXPECT_EQ(content_of(folder.path("file")) == content, true) << size;
  }
}

TEST(InputFile, DoesNotWaitForPipes) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expect_failure([&] { const InputFile file(folder.path("pipe")); }, "it is not a regular file");
}

}  // namespace
}  // namespace plait
