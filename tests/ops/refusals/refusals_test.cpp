// No public function lacks rows in the tables of refusals.
#include "refusals.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/support/files.h"

namespace plait {
namespace {

// Headers of ops for authors of operations, not for users.
const std::set<std::string> kForAuthors = {"call.h",        "declare.h",       "gather.h",
                                           "operand.h",     "per_dimension.h", "scatter.h",
                                           "slice_range.h", "update_slice.h",  "window.h"};

const std::map<std::string, std::string> kRefuseNothing = {
    {"random::seed", "any number is a seed"},
    {"random::draw_key", "takes nothing"},
    {"enumerator_names", "takes a value of an enumeration for its type alone"},
    {"set_print_sink", "any function takes what is printed"},
    {"value_like", "is for other functions, which name themselves to it"},
    {"op_of", "takes any primitive"},
    {"ops", "takes nothing"},
    {"broadcast_to_shape", "is for other functions, which name themselves to it"},
};

// The text of a declaration at namespace level, with the name of the innermost namespace.
struct DeclaredFunction {
  std::string scope;  // "linalg::" for plait::linalg
  std::string text;
};
std::vector<DeclaredFunction> declarations_of(const std::string& header) {
  const std::string code = std::regex_replace(header, std::regex("//[^\n]*|#[^\n]*"), "");
  static const std::regex kNamespace("namespace plait(::(\\w+))?\\s*$");
  std::vector<DeclaredFunction> declarations{{}};
  std::vector<bool> is_namespace;
  std::string scope;
  size_t depth = 0;  // braces other than those of namespaces
  for (const char c : code) {
    DeclaredFunction& last = declarations.back();
    std::smatch found;
    if (c == '{' && depth == 0 && std::regex_search(last.text, found, kNamespace)) {
      scope = found[2].matched ? found[2].str() + "::" : "";
      is_namespace.push_back(true);
      last = {scope, ""};
    } else if (c == '{') {
      is_namespace.push_back(false);
      ++depth;
    } else if (c == '}' && !is_namespace.empty()) {
      if (!is_namespace.back()) --depth;
      is_namespace.pop_back();
      // A function body ends a declaration; a class body does not, since a semicolon follows.
      if (depth == 0) last.text += ' ';
    } else if (c == ';' && depth == 0) {
      declarations.push_back({scope, ""});
    } else if (depth == 0) {
      last.text += c;
    }
  }
  return declarations;
}

std::set<std::string> public_functions() {
  std::set<std::string> functions;
  const std::filesystem::path folder = std::filesystem::path(PLAIT_SOURCE_DIR) / "plait" / "ops";
  // A type, a name and an opening parenthesis: the last match, if function bodies precede.
  static const std::regex kFunction(
      "(?:^|[\\s>])(?:Tensor&?|void|[A-Z]\\w*|std::\\w+<[^()]*>)\\s+(operator[^\\s(]+|\\w+)\\s*"
      "\\(");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".h") || kForAuthors.contains(name)) continue;
    if (entry.path().string().starts_with((folder / "inside").string())) continue;
    for (const DeclaredFunction& declaration : declarations_of(text_of_file(entry.path()))) {
      const std::string& text = declaration.text;
      for (std::sregex_iterator found(text.begin(), text.end(), kFunction), end; found != end;
           ++found) {
        const std::string function = (*found)[1];
        if (!function.starts_with("register_")) functions.insert(declaration.scope + function);
      }
    }
  }
  return functions;
}

Refusals all_refusals() {
  Refusals all;
  for (const auto rows :
       {refusals_of_table,      refusals_of_elementwise,   refusals_of_special,
        refusals_of_create,     refusals_of_shape,         refusals_of_rearrange,
        refusals_of_reduce,     refusals_of_sort,          refusals_of_index,
        refusals_of_take,       refusals_of_segment,       refusals_of_products,
        refusals_of_linalg,     refusals_of_random,        refusals_of_fft,
        refusals_of_activation, refusals_of_normalization, refusals_of_convolution,
        refusals_of_pooling,    refusals_of_loss,          refusals_of_collective}) {
    for (Refusal& row : rows()) all.push_back(std::move(row));
  }
  return all;
}

}  // namespace

TEST(Refusals, HeadersAreReadInFull) {
  const std::set<std::string> functions = public_functions();
  for (const char* name : {"add", "operator+", "operator+=", "sum", "tensor", "split", "topk",
                           "linalg::solve", "linalg::norm", "norm", "fft::fft2", "random::shuffle",
                           "meshgrid", "batch_norm", "index", "where", "var"}) {
    EXPECT_TRUE(functions.contains(name)) << name;
  }
  EXPECT_GE(functions.size(), 300u);
}

TEST(Refusals, EachPublicFunctionHasSome) {
  std::set<std::string> refusing;
  for (const Refusal& row : all_refusals()) refusing.insert(row.function);
  const std::set<std::string> functions = public_functions();
  for (const std::string& function : functions) {
    const bool refuses_nothing = kRefuseNothing.contains(function);
    EXPECT_NE(refuses_nothing, refusing.contains(function))
        << function
        << (refuses_nothing ? " is said to refuse nothing" : " is a scalar, without rows");
  }
  for (const std::string& function : refusing) {
    const bool is_member = function.starts_with("Tensor::") || function.starts_with("Indexed");
    EXPECT_TRUE(is_member || functions.contains(function)) << "there is no " << function;
  }
}

}  // namespace plait
