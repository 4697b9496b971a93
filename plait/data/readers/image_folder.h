// Images in folders whose names are the classes: "train/cat/1.jpg".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "plait/io/images/decode_image.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

struct ImageFolderOptions {
  DecodeOptions decode = {.mode = ImageMode::rgb};
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png", ".webp"};
};

// Samples are an image, u8[channels, height, width], and the number of its class, i64[]. Classes
// are in the order of their names, images in that of their folders and names, also in folders
// within folders: the order of torchvision's. Errors name the file.
class ImageFolder {
 public:
  struct File {
    std::string path;
    int64_t label;
  };

  // IoError if the folder cannot be read, ValueError if it has no classes, or one has no images.
  explicit ImageFolder(const std::string& folder, const ImageFolderOptions& options = {});

  int64_t size() const { return static_cast<int64_t>(contents_->files.size()); }
  std::tuple<Tensor, Tensor> at(int64_t index) const;
  const std::vector<std::string>& classes() const { return contents_->classes; }
  const std::vector<File>& files() const { return contents_->files; }

 private:
  struct Contents {
    std::vector<std::string> classes = {};
    std::vector<File> files = {};
    DecodeOptions decode = {};
  };
  std::shared_ptr<const Contents> contents_;
};

}  // namespace plait::data
