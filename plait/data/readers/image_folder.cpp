#include "plait/data/readers/image_folder.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/data/dataset.h"
#include "plait/ops/arrays/create.h"

namespace plait::data {
namespace {

namespace fs = std::filesystem;

bool ends_with_one_of(std::string name, const std::vector<std::string>& extensions) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(extensions, [&](const std::string& each) {
    return name.size() > each.size() && name.ends_with(each);
  });
}

[[noreturn]] void refuse_folder(const fs::path& folder, const std::error_code& error) {
  throw IoError("cannot read {}: {}", folder.string(), error.message());
}

std::vector<std::string> classes_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> classes;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (entries->is_directory()) classes.push_back(entries->path().filename().string());
  }
  if (error) refuse_folder(folder, error);
  std::ranges::sort(classes);
  if (!classes.empty()) return classes;
  throw ValueError("{} has no folders, expected one for each class", folder.string());
}

// The images below a folder, by their folders, then by their names.
std::vector<std::string> images_in(const fs::path& folder,
                                   const std::vector<std::string>& extensions) {
  std::error_code error;
  std::vector<std::pair<std::string, std::string>> found;
  fs::recursive_directory_iterator entries(folder, fs::directory_options::follow_directory_symlink,
                                           error);
  for (; !error && entries != fs::recursive_directory_iterator(); entries.increment(error)) {
    const fs::path& path = entries->path();
    if (!ends_with_one_of(path.filename().string(), extensions)) continue;
    if (entries->is_regular_file()) {
      found.emplace_back(path.parent_path().string(), path.filename().string());
    }
  }
  if (error) refuse_folder(folder, error);
  std::ranges::sort(found);
  std::vector<std::string> paths;
  for (const auto& [in, name] : found) paths.push_back(fmt::format("{}/{}", in, name));
  return paths;
}

}  // namespace

ImageFolder::ImageFolder(const std::string& folder, const ImageFolderOptions& options) {
  auto contents = std::make_shared<Contents>();
  contents->decode = options.decode;
  contents->classes = classes_in(folder);
  for (size_t label = 0; label < contents->classes.size(); ++label) {
    const fs::path in = fs::path(folder) / contents->classes[label];
    const std::vector<std::string> paths = images_in(in, options.extensions);
    if (paths.empty()) throw ValueError("{} has no images", in.string());
    for (const std::string& path : paths) {
      contents->files.push_back({path, static_cast<int64_t>(label)});
    }
  }
  contents_ = std::move(contents);
}

std::tuple<Tensor, Tensor> ImageFolder::at(int64_t index) const {
  expect_index(index, size());
  const File& file = files()[static_cast<size_t>(index)];
  return {Tensor(read_image(file.path, contents_->decode)), full({}, file.label)};
}

}  // namespace plait::data
