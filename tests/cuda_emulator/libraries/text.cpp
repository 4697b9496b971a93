#include "tests/cuda_emulator/libraries/text.h"

#include <algorithm>
#include <cctype>

namespace emulator {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Parts of a text: words, single characters, and literals and lines of the preprocessor in one
// piece.
std::vector<std::string_view> tokens_of(std::string_view text) {
  std::vector<std::string_view> tokens;
  size_t at = 0;
  bool at_line_start = true;
  while (at < text.size()) {
    const size_t begin = at;
    const char c = text[at];
    if (c == '#' && at_line_start) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      for (++at; at < text.size() && text[at] != c; ++at) at += text[at] == '\\';
      at = std::min(at + 1, text.size());
    } else if (is_word(c)) {
      while (at < text.size() && is_word(text[at])) ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
    } else {
      ++at;
    }
    tokens.push_back(text.substr(begin, at - begin));
    const bool is_space = std::isspace(static_cast<unsigned char>(c));
    at_line_start = is_space ? tokens.back().find('\n') != std::string_view::npos ||
                                   (at_line_start && begin == 0)
                             : false;
  }
  return tokens;
}

bool is_space(std::string_view token) { return std::isspace(static_cast<unsigned char>(token[0])); }

class Rewriter {
 public:
  explicit Rewriter(std::string_view text) : tokens_(tokens_of(text)) {}

  HostText run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_) {
      const std::string_view token = tokens_[at_];
      if (token == "{") open_brace();
      if (token == "}") close_brace();
      if (token == "__global__") note_kernel();
      if (token == "__shared__") {
        place_shared();
      } else {
        result_.text += token;
      }
      if (token == ";" || token == "{" || token == "}") statement_begin_ = at_ + 1;
    }
    return std::move(result_);
  }

 private:
  void open_brace() {
    if (pending_ >= 0 && body_ < 0) {
      body_ = pending_;
      body_depth_ = depth_;
      pending_ = -1;
    }
    ++depth_;
  }

  void close_brace() {
    --depth_;
    if (body_ >= 0 && depth_ == body_depth_) body_ = -1;
  }

  // True if this word is in the statement so far.
  bool statement_has(std::string_view word) const {
    for (size_t k = statement_begin_; k < at_; ++k) {
      if (tokens_[k] == word) return true;
    }
    return false;
  }

  size_t past_parentheses(size_t at) const {
    int depth = 0;
    for (; at < tokens_.size(); ++at) {
      if (tokens_[at] == "(") ++depth;
      if (tokens_[at] == ")" && --depth == 0) return at + 1;
    }
    return at;
  }

  std::string joined(size_t begin, size_t end) const {
    std::string text;
    for (size_t k = begin; k < end; ++k)
      text += tokens_[k][0] == '#' ? " " : std::string(tokens_[k]);
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  // Reads on to the name of the kernel: the word before the parenthesis that is not of an
  // attribute.
  void note_kernel() {
    if (statement_has("template")) return;  // its instances have no names of C
    KernelInText kernel;
    std::string_view word;
    size_t at = at_ + 1;
    for (; at < tokens_.size() && tokens_[at] != ";" && tokens_[at] != "{"; ++at) {
      if (tokens_[at] != "(") {
        if (is_word(tokens_[at][0])) word = tokens_[at];
        continue;
      }
      const size_t past = past_parentheses(at);
      if (word == "__launch_bounds__") {
        kernel.bounds = joined(at + 1, past - 1);
      } else if (word != "__attribute__" && word != "__align__") {
        kernel.name = word;
        add_kernel(std::move(kernel), past);
        return;
      }
      at = past - 1;
    }
  }

  void add_kernel(KernelInText kernel, size_t past) {
    while (past < tokens_.size() && (is_space(tokens_[past]) || tokens_[past][0] == '#')) ++past;
    const auto known =
        std::find_if(result_.kernels.begin(), result_.kernels.end(),
                     [&](const KernelInText& other) { return other.name == kernel.name; });
    const auto index = static_cast<int>(known - result_.kernels.begin());
    if (known == result_.kernels.end()) {
      result_.kernels.push_back(std::move(kernel));
    } else if (known->bounds.empty()) {
      known->bounds = kernel.bounds;
    }
    if (past < tokens_.size() && tokens_[past] == "{") pending_ = index;
  }

  // Shared memory of a kernel, and that of functions, lies in sections of their own; dynamic shared
  // memory is one array under all names.
  void place_shared() {
    if (statement_has("extern")) return name_dynamic();
    const bool is_static = statement_has("static");
    const std::string section = body_ >= 0 ? std::to_string(body_) : "common";
    result_.text += (is_static ? "" : "static ") +
                    ("__attribute__((section(\"plait_shared_" + section + "\")))");
  }

  // extern __shared__ float tile[]; becomes extern float tile[] __asm__("emulated_dynamic_shared");
  void name_dynamic() {
    size_t end = at_ + 1;
    while (end < tokens_.size() && tokens_[end] != ";") ++end;
    for (size_t k = at_ + 1; k < end; ++k) result_.text += tokens_[k];
    result_.text += " __asm__(\"emulated_dynamic_shared\")";
    at_ = end - 1;
  }

  std::vector<std::string_view> tokens_;
  HostText result_;
  size_t at_ = 0, statement_begin_ = 0;
  int depth_ = 0;
  int pending_ = -1;  // a kernel whose body is next
  int body_ = -1;     // the kernel whose body this is
  int body_depth_ = 0;
};

}  // namespace

HostText host_text(std::string_view preprocessed) { return Rewriter(preprocessed).run(); }

std::string kernel_table(const std::vector<KernelInText>& kernels, int architecture) {
  std::string text = "\n# 1 \"plait_kernels\"\n";
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string number = std::to_string(k);
    text +=
        "extern \"C\" __attribute__((weak, visibility(\"hidden\"))) char __start_plait_shared_" +
        number + "[], __stop_plait_shared_" + number + "[];\n";
  }
  text += "extern \"C\" const int emulated_architecture = " + std::to_string(architecture) + ";\n";
  text += "extern \"C\" const EmulatedKernel emulated_kernels[] = {\n";
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string& name = kernels[k].name;
    const std::string signature = "EmulatedSignature<decltype(" + name + ")>",
                      number = std::to_string(k);
    text += "{\"" + name + "\", &" + signature + "::call<&" + name + ">, " + signature +
            "::sizes, " + signature + "::alignments, " + signature + "::count, emulated_bounds(" +
            kernels[k].bounds + "), __start_plait_shared_" + number + ", __stop_plait_shared_" +
            number + ", __start_plait_shared_common, __stop_plait_shared_common},\n";
  }
  return text + "{}};\n";
}

std::string_view shim_language() {
  return
#include "tests/cuda_emulator/libraries/shim_language.inc"
      ;
}

std::string_view shim_numbers() {
  return
#include "tests/cuda_emulator/libraries/shim_numbers.inc"
      ;
}

std::string_view shim_math() {
  return
#include "tests/cuda_emulator/libraries/shim_math.inc"
      ;
}

}  // namespace emulator
