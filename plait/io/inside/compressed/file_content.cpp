#include "plait/io/inside/compressed/file_content.h"

#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/gzip.h"

namespace plait {

FileContent::FileContent(const std::string& path)
    : file_(std::make_shared<const InputFile>(path)), bytes_(file_->bytes()) {
  with_path(path, [&] {
    if (is_gzip(path, bytes_)) {
      decompressed_ = gunzipped(bytes_);
      bytes_ = decompressed_;
      file_ = nullptr;
    }
    expect_not_compressed(bytes_);
  });
}

}  // namespace plait
