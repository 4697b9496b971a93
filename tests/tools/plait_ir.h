// The command plait-ir, and a folder for what it reads and writes.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/files.h"

namespace plait {

struct Outcome {
  int status = -1;
  std::string output, errors;
};

class PlaitIr : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("plait-ir-test-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const { return text_of_file(path(name)); }
  // Through the shell, so that arguments are quoted and redirected as they would be there.
  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    std::string command = environment + " " + PLAIT_TOOLS_DIR + "/plait-ir " + arguments + " > " +
                          path("stdout") + " 2> " + path("stderr");
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content("stdout"), content("stderr")};
  }

  std::filesystem::path folder;
};

}  // namespace plait
