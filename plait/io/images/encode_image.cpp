#include "plait/io/images/encode_image.h"

#include <algorithm>
#include <cctype>

#include "plait/core/error.h"
#include "plait/io/inside/file.h"

namespace plait {
namespace {

std::vector<std::byte> encoded_for(const std::string& path, const Array& image,
                                   const WriteImageOptions& options) {
  const size_t dot = path.find_last_of("./");
  std::string suffix = dot == std::string::npos ? "" : path.substr(dot);
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  if (suffix == ".jpg" || suffix == ".jpeg") return encode_jpeg(image, options.jpeg);
  if (suffix == ".png") return encode_png(image, options.png);
  if (suffix == ".webp") return encode_webp(image, options.webp);
  throw ValueError("the name {} does not end with .jpg, .jpeg, .png or .webp", path);
}

}  // namespace

void write_image(const std::string& path, const Array& image, const WriteImageOptions& options) {
  const std::vector<std::byte> bytes = encoded_for(path, image, options);
  OutputFile file(path);
  file.write(bytes);
  file.finish();
}

}  // namespace plait
