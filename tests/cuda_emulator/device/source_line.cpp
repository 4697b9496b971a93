#include "tests/cuda_emulator/device/source_line.h"

#include <cstdint>
#include <cstdio>

#include <dlfcn.h>

namespace emulator {

std::string source_line(const std::string& image, const void* code) {
  Dl_info info;
  if (!code || image.empty() || !dladdr(code, &info)) return "";
  const auto offset =
      reinterpret_cast<uintptr_t>(code) - reinterpret_cast<uintptr_t>(info.dli_fbase) - 1;
  char command[256];
  std::snprintf(command, sizeof command, "addr2line -e %s 0x%zx 2>/dev/null", image.c_str(),
                offset);
  FILE* answer = popen(command, "r");
  if (!answer) return "";
  char line[512] = "";
  const bool has_line = std::fgets(line, sizeof line, answer) != nullptr;
  pclose(answer);
  std::string text = has_line ? line : "";
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (text.empty() || text[0] == '?') return "";
  if (const size_t note = text.find(" (discriminator"); note != std::string::npos)
    text.resize(note);
  return " (" + text.substr(text.rfind('/') + 1) + ")";
}

}  // namespace emulator
