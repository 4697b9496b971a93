// The functions of NVRTC.
#include "tests/cuda_emulator/abi/nvrtc.h"

#include <cctype>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tests/cuda_emulator/libraries/compiler.h"

namespace emulator {
namespace {

struct Program {
  CompileRequest request;
  std::set<std::string> expressions;
  Compiled compiled;
  bool was_compiled = false;
  bool has_real_architecture = false;
};

// The programs that live, by handle. Each program is used by one thread at a time.
class Programs {
 public:
  Program* add(std::shared_ptr<Program> program) {
    const std::lock_guard lock(mutex_);
    Program* const handle = program.get();
    programs_.emplace(handle, std::move(program));
    return handle;
  }
  std::shared_ptr<Program> find(nvrtcProgram handle) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(handle);
    return found == programs_.end() ? nullptr : found->second;
  }
  bool remove(nvrtcProgram handle) {
    const std::lock_guard lock(mutex_);
    return programs_.erase(handle) != 0;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<Program>> programs_;
};

Programs& programs() {
  static auto* all = new Programs;
  return *all;
}

// The value of an option that is written --name=value or -name=value; null: another option.
const char* value_of(std::string_view option, std::string_view name) {
  const size_t dashes = option.starts_with("--") ? 2 : 1;
  const std::string_view rest = option.substr(std::min(dashes, option.size()));
  if (!rest.starts_with(name) || rest.size() <= name.size() || rest[name.size()] != '=')
    return nullptr;
  return rest.data() + name.size() + 1;
}

bool is_flag(std::string_view option) {
  for (const char* flag : {"-default-device", "--device-as-default-execution-space", "-lineinfo",
                           "--generate-line-info", "-use_fast_math", "--use_fast_math", "-G",
                           "--device-debug", "-restrict", "--restrict", "-w", "--disable-warnings",
                           "-extra-device-vectorization", "--extra-device-vectorization"}) {
    if (option == flag) return true;
  }
  for (const char* name :
       {"fmad", "maxrregcount", "ftz", "prec-sqrt", "prec-div", "ptxas-options", "split-compile"}) {
    if (value_of(option, name)) return true;
  }
  return false;
}

bool take_architecture(Program& program, std::string_view value) {
  const bool is_real = value.starts_with("sm_"), is_virtual = value.starts_with("compute_");
  if (!is_real && !is_virtual) return false;
  int number = 0;
  for (const char c : value.substr(is_real ? 3 : 8)) {
    if (!std::isdigit(static_cast<unsigned char>(c))) break;  // sm_90a
    number = number * 10 + (c - '0');
  }
  program.request.architecture = number;
  program.has_real_architecture = is_real;
  return number >= 50 && number < 200;
}

bool take_option(Program& program, std::string_view option) {
  for (const char* name : {"gpu-architecture", "arch"}) {
    if (const char* value = value_of(option, name)) return take_architecture(program, value);
  }
  if (const char* value = value_of(option, "std")) {
    program.request.standard = value;
    const std::string_view known = value;
    return known == "c++11" || known == "c++14" || known == "c++17" || known == "c++20";
  }
  for (const auto& [name, own] :
       {std::pair{"define-macro", "-D"}, {"undefine-macro", "-U"}, {"include-path", "-I"}}) {
    if (const char* value = value_of(option, name)) {
      program.request.options.push_back(std::string(own) + value);
      return true;
    }
  }
  if (option.size() > 2 &&
      (option.starts_with("-D") || option.starts_with("-U") || option.starts_with("-I"))) {
    program.request.options.emplace_back(option);
    return true;
  }
  return is_flag(option);
}

nvrtcResult read_options(Program& program, int count, const char* const* options) {
  program.request.options.clear();
  for (int k = 0; k < count; ++k) {
    if (options[k] && take_option(program, options[k])) continue;
    program.compiled.log = "nvrtc: error: unrecognized option " +
                           std::string(options[k] ? options[k] : "(null)") + " found\n";
    return NVRTC_ERROR_INVALID_OPTION;
  }
  return NVRTC_SUCCESS;
}

nvrtcResult copy_out(const std::string& text, char* to, bool with_end) {
  if (!to) return NVRTC_ERROR_INVALID_INPUT;
  std::memcpy(to, text.c_str(), text.size() + (with_end ? 1 : 0));
  return NVRTC_SUCCESS;
}

// Runs `body` with the program of a handle.
template <class F>
nvrtcResult with_program(nvrtcProgram handle, F&& body) {
  const std::shared_ptr<Program> program = programs().find(handle);
  if (!program) return NVRTC_ERROR_INVALID_PROGRAM;
  try {
    return body(*program);
  } catch (const std::exception& error) {  // no memory, or no room for files
    program->compiled.log = std::string("error: ") + error.what() + "\n";
    return NVRTC_ERROR_INTERNAL_ERROR;
  }
}

}  // namespace
}  // namespace emulator

using namespace emulator;

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (!major || !minor) return NVRTC_ERROR_INVALID_INPUT;
  *major = 12;
  *minor = 4;
  return NVRTC_SUCCESS;
}

const char* nvrtcGetErrorString(nvrtcResult result) {
  static constexpr const char* kNames[] = {"NVRTC_SUCCESS",
                                           "NVRTC_ERROR_OUT_OF_MEMORY",
                                           "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
                                           "NVRTC_ERROR_INVALID_INPUT",
                                           "NVRTC_ERROR_INVALID_PROGRAM",
                                           "NVRTC_ERROR_INVALID_OPTION",
                                           "NVRTC_ERROR_COMPILATION",
                                           "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
                                           "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
                                           "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
                                           "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
                                           "NVRTC_ERROR_INTERNAL_ERROR"};
  return result >= 0 && result <= NVRTC_ERROR_INTERNAL_ERROR ? kNames[result]
                                                             : "NVRTC_ERROR unknown";
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* program, const char* text, const char* name,
                               int headers, const char* const* header_texts,
                               const char* const* header_names) {
  if (!program || !text || headers < 0 || (headers && (!header_texts || !header_names)))
    return NVRTC_ERROR_INVALID_INPUT;
  auto made = std::make_shared<Program>();
  made->request.text = text;
  made->request.name = name && *name ? name : "default_program";
  for (int k = 0; k < headers; ++k)
    made->request.headers.emplace_back(header_names[k], header_texts[k]);
  *program = reinterpret_cast<nvrtcProgram>(programs().add(std::move(made)));
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* program) {
  if (!program || !programs().remove(*program)) return NVRTC_ERROR_INVALID_PROGRAM;
  *program = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  if (count < 0 || (count && !options)) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    if (const nvrtcResult result = read_options(program, count, options); result != NVRTC_SUCCESS)
      return result;
    program.compiled = compile(program.request);
    program.was_compiled = true;
    return program.compiled.is_compiled ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
  });
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* bytes) {
  if (!bytes) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    *bytes = program.compiled.log.size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* log) {
  return with_program(handle,
                      [&](Program& program) { return copy_out(program.compiled.log, log, true); });
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* bytes) {
  if (!bytes) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    if (!program.compiled.is_compiled) return NVRTC_ERROR_INVALID_PROGRAM;
    *bytes = program.has_real_architecture ? program.compiled.image.size() : 0;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* cubin) {
  return with_program(handle, [&](Program& program) {
    if (!program.compiled.is_compiled || !program.has_real_architecture)
      return NVRTC_ERROR_INVALID_PROGRAM;
    return copy_out(program.compiled.image, cubin, false);
  });
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* bytes) {
  if (!bytes) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    if (!program.compiled.is_compiled) return NVRTC_ERROR_INVALID_PROGRAM;
    *bytes = program.compiled.image.size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* ptx) {
  return with_program(handle, [&](Program& program) {
    return program.compiled.is_compiled ? copy_out(program.compiled.image, ptx, true)
                                        : NVRTC_ERROR_INVALID_PROGRAM;
  });
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char* expression) {
  if (!expression) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    if (program.was_compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program.expressions.insert(expression);
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char* expression, const char** name) {
  if (!expression || !name) return NVRTC_ERROR_INVALID_INPUT;
  return with_program(handle, [&](Program& program) {
    if (!program.compiled.is_compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const auto found = program.expressions.find(expression);
    if (found == program.expressions.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *name = found->c_str() + (found->starts_with("&") ? 1 : 0);
    return NVRTC_SUCCESS;
  });
}
