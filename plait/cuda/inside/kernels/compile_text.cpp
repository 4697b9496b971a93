#include "plait/cuda/inside/kernels/compile_text.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/file_cache.h"
#include "plait/core/log.h"
#include "plait/cuda/inside/kernels/prelude.h"

namespace plait::cuda {
namespace {

// Products and sums are not contracted, so that a fused kernel gives the bits of its parts, and of
// the CPU.
constexpr const char* kOptions[] = {"--std=c++17", "--fmad=false", "--disable-warnings"};

// "sm_90" for code, "compute_90" for PTX that the driver compiles. Code of an older architecture
// runs on devices of the same generation.
std::string target_of(const Nvrtc& nvrtc, int architecture) {
  const std::vector<int>& known = nvrtc.architectures;
  const auto above = std::ranges::upper_bound(known, architecture);
  if (known.empty() || above == known.begin()) return fmt::format("sm_{}", architecture);
  const int best = above[-1];
  return fmt::format("{}_{}", best / 10 == architecture / 10 ? "sm" : "compute", best);
}

// Owns a program of NVRTC.
class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const KernelText& kernel, const std::string& text)
      : nvrtc_(nvrtc), name_(kernel.name) {
    const std::string file = name_ + ".cu";
    expect(nvrtc.create(&program_, text.c_str(), file.c_str(), 0, nullptr, nullptr), "create");
  }
  ~Compilation() { nvrtc_.destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  void compile(const std::string& target) {
    const std::string architecture = "--gpu-architecture=" + target;
    std::vector<const char*> options = {architecture.c_str()};
    options.insert(options.end(), std::begin(kOptions), std::end(kOptions));
    const Nvrtc::Status status =
        nvrtc_.compile(program_, static_cast<int>(options.size()), options.data());
    if (status == 0) return;
    throw CompileError("the CUDA kernel {} does not compile for {}: {}\n{}", name_, target,
                       nvrtc_.error_string(status), messages());
  }
  std::string code(const std::string& target) {
    return target.starts_with("sm_") ? taken(nvrtc_.cubin_size, nvrtc_.cubin)
                                     : taken(nvrtc_.ptx_size, nvrtc_.ptx);
  }

 private:
  using GetSize = Nvrtc::Status (*)(Nvrtc::Program, size_t*);
  using Get = Nvrtc::Status (*)(Nvrtc::Program, char*);

  void expect(Nvrtc::Status status, std::string_view step) const {
    if (status == 0) return;
    throw CompileError("NVRTC cannot {} the CUDA kernel {}: {}", step, name_,
                       nvrtc_.error_string(status));
  }
  std::string taken(GetSize size, Get get) {
    size_t bytes = 0;
    expect(size(program_, &bytes), "return");
    std::string result(bytes, '\0');
    expect(get(program_, result.data()), "return");
    return result;
  }
  std::string messages() {
    std::string text = taken(nvrtc_.log_size, nvrtc_.log);
    while (!text.empty() && (text.back() == '\0' || text.back() == '\n')) text.pop_back();
    return text;
  }

  const Nvrtc& nvrtc_;
  const std::string& name_;
  Nvrtc::Program program_ = nullptr;
};

// Messages count lines from the kernel's first.
std::string whole_text(const KernelText& kernel) {
  return fmt::format("#line 1 \"prelude\"\n{}\n#line 1 \"{}\"\n{}", prelude(), kernel.name,
                     kernel.text);
}

std::string compiled(const Nvrtc& nvrtc, const KernelText& kernel, const std::string& text,
                     const std::string& target) {
  const auto start = std::chrono::steady_clock::now();
  Compilation compilation(nvrtc, kernel, text);
  compilation.compile(target);
  std::string code = compilation.code(target);
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  log(LogArea::cuda, LogLevel::debug, "{} compiled for {} in {:.1f} ms", kernel.name, target,
      time.count());
  return code;
}

Hash128 key_of(const Nvrtc& nvrtc, const std::string& text, const std::string& target) {
  Hasher hasher;
  for (const std::string_view part :
       {std::string_view(nvrtc.identity), std::string_view(target), std::string_view(text)}) {
    hasher.update(part.size());
    hasher.update(part);
  }
  for (const std::string_view option : kOptions) hasher.update(option);
  return hasher.finish();
}

}  // namespace

std::string compile_text(const Nvrtc& nvrtc, const KernelText& kernel, int architecture) {
  return compiled(nvrtc, kernel, whole_text(kernel), target_of(nvrtc, architecture));
}

// The content of a file: the length of the text, the text, the code.
std::string cached_code(const KernelText& kernel, int architecture) {
  const Nvrtc& compiler = nvrtc();
  const std::string target = target_of(compiler, architecture);
  const std::string text = whole_text(kernel);
  const Hash128 key = key_of(compiler, text, target);
  const uint64_t length = text.size();
  std::string content(reinterpret_cast<const char*>(&length), sizeof length);
  content += text;
  if (const auto found = read_cached(key, "cubin"); found && found->starts_with(content)) {
    log(LogArea::cuda, LogLevel::debug, "{} loaded from {}", kernel.name, cache_folder());
    return found->substr(content.size());
  }
  std::string code = compiled(compiler, kernel, text, target);
  write_cached(key, "cubin", content + code);
  return code;
}

}  // namespace plait::cuda
